/* SPDX-License-Identifier: MIT */
/*
 * The sentences of a check, the same in every form: what was found, why it is undecided, what would
 * decide. See check.h.
 */
#include <math.h>
#include <string.h>

#include "policy/shown.h"
#include "report/check/check_report.h"

/* A part as per cent: "10.6 %". */
static void percent_text(double part, char *to, size_t bytes)
{
	snprintf(to, bytes, part >= 9.995 ? "%.0f %%" : "%.3g %%", 100 * part);
}

/* A bound or limit: bytes or objects. */
static void amount_text(double amount, bool objects, struct bp_quantity_style style, char *to)
{
	if (!(amount >= 0 && amount < 0x1p63))
		snprintf(to, BP_QUANTITY_BYTES, "not known");
	else if (objects)
		bp_count_text((uint64_t)llround(amount), to);
	else
		bp_bytes_text((uint64_t)llround(amount), style, to);
}

/* What was found, as reports show it. */
static struct bp_figure figure_of(const struct bp_check_result *result)
{
	const struct bp_limit *limit = result->limit;
	return limit->metric == BP_METRIC_PEAK ? bp_shown_peak(&result->figure) : result->figure;
}

static void find_limit(
	const struct bp_check_result *result, struct bp_quantity_style style, char *buffer)
{
	const struct bp_figure shown = figure_of(result);
	const struct bp_interval *interval = &shown.interval;
	bool objects = result->limit->objects;
	char figure[BP_QUANTITY_BYTES], low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES];
	char margin[32];
	double most = result->limit->most;
	(objects ? bp_objects_figure_text : bp_bytes_figure_text)(&shown, style, figure);
	/* An estimate that says little is left out where its limits are printed. */
	const char *comma = interval->exact ? ", counted" : bp_is_vague(interval) ? "" : ", ";
	bool told = result->outcome != BP_OUTCOME_UNDECIDED ||
		    (result->low_holds && result->high_holds);
	if (bp_is_vague(interval) && told)
		*figure = '\0';
	if (result->blind == BP_BLIND_UNWATCHED && !result->low_holds) {
		snprintf(buffer, BP_CHECK_WORDS_BYTES, "not known");
		return;
	}
	amount_text(interval->low, objects, style, low);
	amount_text(interval->high, objects, style, high);
	if (result->outcome == BP_OUTCOME_EXCEEDED) {
		percent_text(interval->low / most - 1, margin, sizeof margin);
		snprintf(buffer, BP_CHECK_WORDS_BYTES, "%s%s%s%s: %s%s", figure, comma,
			interval->exact ? "" : "at least ", interval->exact ? "" : low,
			most > 0 ? margin : "something",
			most > 0 ? " over the limit" : " where nothing may be");
	} else if (result->outcome == BP_OUTCOME_WITHIN) {
		percent_text(most > 0 ? 1 - interval->high / most : 0, margin, sizeof margin);
		snprintf(buffer, BP_CHECK_WORDS_BYTES, "%s%s%s%s: %s below the limit", figure,
			comma, interval->exact ? "" : "at most ", interval->exact ? "" : high,
			margin);
	} else if (result->low_holds && result->high_holds) {
		snprintf(buffer, BP_CHECK_WORDS_BYTES, "%s%sfrom %s to %s: the limit is in between",
			figure, comma, low, high);
	} else {
		snprintf(buffer, BP_CHECK_WORDS_BYTES, "%s", figure);
	}
}

/* "+2.1 %", of new / base. */
static void change_text(double ratio, char *to, size_t bytes)
{
	if (!isfinite(ratio))
		snprintf(to, bytes, ratio > 0 ? "without limit" : "not known");
	else if (ratio >= 10)
		snprintf(to, bytes, "x %.3g", ratio);
	else
		snprintf(to, bytes, "%+.*f %%", fabs(ratio - 1) < 0.1 ? 2 : 1, 100 * (ratio - 1));
}

static void find_growth(
	const struct bp_check_result *result, struct bp_quantity_style style, char *buffer)
{
	const struct bp_interval *interval = &result->figure.interval;
	bool objects = result->limit->objects;
	char new[BP_QUANTITY_BYTES], base[BP_QUANTITY_BYTES];
	char change[48], low[48], high[48];
	amount_text(result->new_estimate, objects, style, new);
	amount_text(result->base_estimate, objects, style, base);
	change_text(interval->estimate, change, sizeof change);
	change_text(interval->low, low, sizeof low);
	change_text(interval->high, high, sizeof high);
	int used = snprintf(buffer, BP_CHECK_WORDS_BYTES, "%s after %s: %s", new, base,
		interval->unknown && result->counted ? "it was nothing" : change);
	size_t left = (size_t)(BP_CHECK_WORDS_BYTES - used);
	if (interval->low == interval->high)
		snprintf(buffer + used, left, ", counted");
	else if (result->outcome == BP_OUTCOME_EXCEEDED)
		snprintf(buffer + used, left, ", at least %s", low);
	else if (result->outcome == BP_OUTCOME_WITHIN)
		snprintf(buffer + used, left, ", at most %s", high);
	else if (result->low_holds && result->high_holds && !isfinite(interval->high))
		snprintf(buffer + used, left, ", from %s on", low);
	else if (result->low_holds && result->high_holds)
		snprintf(buffer + used, left, ", from %s to %s", low, high);
}

void bp_check_finding(
	const struct bp_check_result *result, struct bp_quantity_style style, char *buffer)
{
	if (result->limit->growth)
		find_growth(result, style, buffer);
	else
		find_limit(result, style, buffer);
}

static const char *blind_text(enum bp_blind blind)
{
	static const char *const texts[BP_BLIND_COUNT] = { "",
		"the program is not in this profile: it was not profiled, or FILE.d is not beside "
		"FILE any more",
		"no allocation at all was seen: is the program statically linked, or does it have "
		"an allocator of its own?",
		"processes of its tree were not seen, so there may be more: see the warnings, and "
		"keep FILE.d beside FILE; --only-seen judges what was seen",
		"samples were lost, so there may be more than any upper limit says: see the "
		"warnings",
		"frees were lost, so there may be less than any lower limit says: see the warnings",
		"pages of objects were not recorded, or objects were not in place: record it by "
		"bytepoll run --in-place, and keep FILE.pages beside FILE",
		"resident memory was not recorded, or not to the end: record it by bytepoll run "
		"(without --no-resident), and keep FILE.resident beside FILE",
		"what the program maps itself was not recorded: bytepoll run --mapped records it",
		"resident memory was recorded of the first process alone, and there are others: "
		"--only-seen judges that one",
		"sampling was off for a time, and everything allocated meanwhile may belong here: "
		"check a run in which it stays on",
		"functions without a name may be meant too: install debug symbols, check before "
		"files of the program are replaced, or count named functions alone by "
		"--only-seen" };
	return texts[blind];
}

/* An interval as `--interval` takes it; a power of two. */
static void interval_text(uint64_t interval, char *to, size_t bytes)
{
	static const char units[] = "\0KMGT";
	unsigned unit = 0;
	while (interval >= 1024 && unit < 4) {
		interval /= 1024;
		unit++;
	}
	snprintf(to, bytes, "%llu%.1s", (unsigned long long)interval, units + unit);
}

static void samples_text(const struct bp_check_result *result, char *buffer)
{
	const struct bp_check_need *need = &result->need;
	char interval[32], now[BP_QUANTITY_BYTES], wanted[BP_QUANTITY_BYTES];
	interval_text(need->interval, interval, sizeof interval);
	bp_count_text((uint64_t)ceil(need->samples), wanted);
	if (need->samples_now < 9.95)
		snprintf(now, sizeof now, "%.1f", need->samples_now);
	else
		bp_count_text((uint64_t)need->samples_now, now);
	if (result->limit->growth)
		snprintf(buffer, BP_CHECK_WORDS_BYTES,
			"the runs stand for %s sample%s before, about %s would decide: "
			"bytepoll run --interval %s, on both sides",
			now, need->samples_now == 1 ? "" : "s", wanted, interval);
	else if (need->samples <= need->samples_now && result->limit->objects)
		/* Their upper limit allows for unseen ones of any size, which no sample tells
		 * of. */
		snprintf(buffer, BP_CHECK_WORDS_BYTES,
			"what small objects may have been missed decides: bytepoll run --interval "
			"%s, or --min-size with the smallest size there is",
			interval);
	else if (need->samples <= need->samples_now)
		snprintf(buffer, BP_CHECK_WORDS_BYTES,
			"the limit stands for %s samples, which decide in most runs but not in "
			"this one: bytepoll run --interval %s",
			now, interval);
	else
		snprintf(buffer, BP_CHECK_WORDS_BYTES,
			"%sthe limit stands for %s samples, about %s would decide: bytepoll run "
			"--interval %s%s",
			result->never_within
				? "at this sampling interval nothing can be shown to be so small: "
				: "",
			now, wanted, interval,
			result->limit->metric == BP_METRIC_ALLOCATED
				? ", or more work in a run, with the limit raised alike"
				: "");
}

void bp_check_advice(const struct bp_check_result *result, char *buffer)
{
	*buffer = '\0';
	switch (result->reason) {
	case BP_REASON_BLIND:
		snprintf(buffer, BP_CHECK_WORDS_BYTES, "%s", blind_text(result->blind));
		return;
	case BP_REASON_KILLED:
		snprintf(buffer, BP_CHECK_WORDS_BYTES,
			"the program was killed: its counted totals are known within limits only");
		return;
	case BP_REASON_NEAR:
		snprintf(buffer, BP_CHECK_WORDS_BYTES,
			"so near to the limit that %s: leave more room",
			result->limit->resident != BP_RESIDENT_NONE
				? "the kernel's own counters, which it sums lazily, do not decide"
				: "no practical sampling interval decides");
		return;
	case BP_REASON_SAMPLES:
		samples_text(result, buffer);
		return;
	case BP_REASON_RUNS:
		snprintf(buffer, BP_CHECK_WORDS_BYTES,
			result->limit->growth
				? "the runs differ too much among themselves: give more runs on "
				  "both sides"
				: "the hosts differ too much among themselves: record more of "
				  "them");
		return;
	default:
		return;
	}
}

void bp_check_note(const struct bp_check_result *result, char *buffer)
{
	*buffer = '\0';
	if (result->nothing_matches)
		snprintf(buffer, BP_CHECK_WORDS_BYTES,
			"no sample matches %s: is it spelt as the report spells it?",
			result->limit->filter_text);
	else if (result->limit->growth && (result->new_runs < 2 || result->base_runs < 2))
		snprintf(buffer, BP_CHECK_WORDS_BYTES,
			"one run on a side: how much the program itself varies from run to run is "
			"not covered; give several FILEs and several --against");
}
