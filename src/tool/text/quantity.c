/* SPDX-License-Identifier: MIT */
/*
 * Units and digits; see quantity.h. The unit is the largest one of which the estimate (or, of a
 * vague figure, the upper limit) has at least one; the decimals follow from the half-width h of the
 * interval in that unit: as many as give h two digits, or one if its first digit is 5 or more. A
 * number has no more than four digits, though: what its interval says beyond them is of no use to a
 * reader, and a half-width that is smaller than the last digit is left out ("≈ 12.35 MiB").
 */
#include "text/quantity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	double factor;
	const char *name;
};

static const struct unit units_binary[] = { { 1, "B" }, { 0x1p10, "KiB" }, { 0x1p20, "MiB" },
	{ 0x1p30, "GiB" }, { 0x1p40, "TiB" }, { 0x1p50, "PiB" }, { 0, NULL } };
static const struct unit units_si[] = { { 1, "B" }, { 1e3, "kB" }, { 1e6, "MB" }, { 1e9, "GB" },
	{ 1e12, "TB" }, { 1e15, "PB" }, { 0, NULL } };
static const struct unit units_count[] = { { 1, "" }, { 1e3, "k" }, { 1e6, "M" }, { 1e9, "G" },
	{ 1e12, "T" }, { 0, NULL } };

/* A lopsided interval is written with its limits: the longer side is over so many shorter ones. */
#define LOPSIDED 1.5
/* A probability is written with as many digits as keep what is left of it to 1 to this part. */
#define PERCENT_ERROR 0.01

static const struct unit *unit_for(const struct unit *units, double value)
{
	const struct unit *unit = units;
	while (unit[1].name != NULL && value >= unit[1].factor * 0.9995)
		unit++;
	return unit;
}

/* Four digits. */
static int decimals_exact(double value)
{
	return value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
}

/* Decimals for numbers of which the largest is `value`, and which are known to about
 * +-`half_width`. */
static int decimals_for(double half_width, double value)
{
	if (!(half_width > 0) || half_width >= 10)
		return 0;
	double magnitude = floor(log10(half_width));
	double first_digit = half_width / pow(10, magnitude);
	int decimals = (int)(first_digit >= 4.95 ? -magnitude : 1 - magnitude);
	int most = decimals_exact(value);
	return decimals < 0 ? 0 : decimals > most ? most : decimals;
}

/* Is it less than half of the last digit? */
static bool is_below(double half_width, int decimals)
{
	return half_width * pow(10, decimals) < 0.5;
}

void bp_bytes_text(uint64_t bytes, struct bp_quantity_style style, char *buffer)
{
	const struct unit *unit = unit_for(style.si ? units_si : units_binary, (double)bytes);
	double value = (double)bytes / unit->factor;
	snprintf(buffer, BP_QUANTITY_BYTES, "%.*f %s",
		unit->factor == 1 || value == floor(value) ? 0 : decimals_exact(value), value,
		unit->name);
}

void bp_count_text(uint64_t count, char *buffer)
{
	char digits[32];
	int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
	for (int i = 0; i < length; i++) {
		*buffer++ = digits[i];
		if ((length - i - 1) % 3 == 0 && i + 1 < length)
			*buffer++ = ',';
	}
	*buffer = '\0';
}

void bp_percent_text(double probability, char *buffer)
{
	const double percent = 100 * probability;
	for (int digits = 6; digits <= 15; digits++) {
		snprintf(buffer, BP_QUANTITY_BYTES, "%.*g", digits, percent);
		if (fabs(strtod(buffer, NULL) - percent) <= PERCENT_ERROR * (100 - percent))
			return;
	}
}

void bp_time_text(uint64_t time_ns, char *buffer)
{
	double seconds = (double)time_ns / 1e9;
	if (seconds >= 0.9995)
		snprintf(buffer, BP_QUANTITY_BYTES, "%.*f s", seconds < 9.995 ? 2 : 1, seconds);
	else if (seconds >= 0.0009995 || time_ns == 0)
		snprintf(buffer, BP_QUANTITY_BYTES, "%.3g ms", seconds * 1e3);
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "%.3g us", seconds * 1e6);
}

void bp_interval_text(uint64_t interval, char *buffer)
{
	unsigned long long number = interval;
	const char *suffix = "";
	if (number >= 10 << 20 || (number > 0 && number % (1 << 20) == 0)) {
		number >>= 20;
		suffix = "M";
	} else if (number >= 10 << 10 || (number > 0 && number % (1 << 10) == 0)) {
		number >>= 10;
		suffix = "K";
	}
	snprintf(buffer, BP_QUANTITY_BYTES, "%llu%s", number, suffix);
}

void bp_sampling_text(uint64_t low, uint64_t high, struct bp_quantity_style style, char *buffer)
{
	char texts[2][BP_QUANTITY_BYTES];
	bp_bytes_text(low, style, texts[0]);
	bp_bytes_text(high, style, texts[1]);
	if (high <= 1)
		snprintf(buffer, BP_QUANTITY_BYTES, "every object sampled");
	else if (low == high)
		snprintf(buffer, BP_QUANTITY_BYTES, "1 sample per %.32s", texts[0]);
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "1 sample per %.32s to %.32s", texts[0],
			texts[1]);
}

struct bp_figure bp_figure_per_second(const struct bp_figure *figure, double seconds)
{
	struct bp_figure rate = *figure;
	rate.interval.estimate /= seconds;
	rate.interval.low /= seconds;
	rate.interval.high /= seconds;
	return rate;
}

bool bp_is_vague(const struct bp_interval *interval)
{
	if (interval->exact)
		return false;
	/* An estimate smaller than its error on one side is none. */
	return interval->unknown || interval->high > 2 * interval->estimate;
}

/* "687.0", of a bound: it must hold as it is written, so that it is not rounded to the nearest, and
 * has two digits at least. */
static void bound_number_text(
	double value, bool lower, int decimals, const struct unit *unit, char *buffer)
{
	while (decimals < 3 && value > 0 && unit->factor > 1 && value * pow(10, decimals) < 10)
		decimals++;
	const double digits = pow(10, decimals);
	/* (What can be written exactly must not lose its last digit to the multiplication.) */
	snprintf(buffer, BP_QUANTITY_BYTES, "%.*f", decimals,
		lower ? floor(value * digits + 1e-6) / digits
		      : ceil(value * digits - 1e-6) / digits);
}

static const char *bound_text(const struct bp_figure *figure)
{
	if (figure->lower_bound && figure->upper_bound)
		return "about ";
	return figure->lower_bound ? "at least " : figure->upper_bound ? "at most " : "";
}

/* Limits so near to each other that they read alike: counters, of which one was behind by an
 * object. */
static bool read_alike(double low, double high, int decimals)
{
	char low_text[BP_QUANTITY_BYTES], high_text[BP_QUANTITY_BYTES];
	snprintf(low_text, sizeof low_text, "%.*f", decimals, low);
	snprintf(high_text, sizeof high_text, "%.*f", decimals, high);
	return strcmp(low_text, high_text) == 0;
}

/* Limits alone; of a bound the one that holds. */
static void vague_text(
	const struct bp_figure *figure, const struct unit *unit, bool utf8, char *buffer)
{
	double low = figure->interval.low / unit->factor;
	double high = figure->interval.high / unit->factor;
	const char *space = *unit->name != '\0' ? " " : "";
	int decimals = decimals_for((high - low) / 2, high);
	bool from_zero = is_below(low, decimals);
	char number[BP_QUANTITY_BYTES];
	bound_number_text(low, true, decimals, unit, number);
	if (figure->lower_bound && (figure->upper_bound || from_zero))
		snprintf(buffer, BP_QUANTITY_BYTES, "not known");
	else if (figure->lower_bound)
		snprintf(
			buffer, BP_QUANTITY_BYTES, "at least %.32s%s%s", number, space, unit->name);
	else if (from_zero || figure->upper_bound)
		snprintf(buffer, BP_QUANTITY_BYTES, "%s %.*f%s%s", utf8 ? "≤" : "<=", decimals,
			high, space, unit->name);
	else if (read_alike(low, high, decimals))
		snprintf(buffer, BP_QUANTITY_BYTES, "%s%.*f%s%s", utf8 ? "≈ " : "about ",
			unit->factor == 1 ? 0 : decimals_exact(high), high, space, unit->name);
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "[%.*f, %.*f]%s%s", decimals, low, decimals,
			high, space, unit->name);
}

/* An interval in units; `space`: between number and unit. */
static void figure_text(
	const struct bp_figure *figure, const struct unit *units, bool utf8, char *buffer)
{
	const struct bp_interval *i = &figure->interval;
	bool vague = bp_is_vague(i);
	const struct unit *unit = unit_for(units, vague ? i->high : i->estimate);
	double low = i->low / unit->factor, high = i->high / unit->factor;
	double estimate = i->estimate / unit->factor;
	const char *bound = bound_text(figure), *space = *unit->name != '\0' ? " " : "";
	if (vague) {
		vague_text(figure, unit, utf8, buffer);
		return;
	}
	double below = estimate - low, above = high - estimate;
	double longer = fmax(below, above), shorter = fmin(below, above);
	int decimals = decimals_for(longer, fmax(estimate, high));
	char number[BP_QUANTITY_BYTES];
	bound_number_text(
		figure->lower_bound ? low : high, figure->lower_bound, decimals, unit, number);
	const bool known = longer > 0 && is_below(longer, decimals) && unit->factor > 1;
	/* With losses an interval says nothing about the whole: only the side that holds is
	 * shown. */
	if (figure->lower_bound && figure->upper_bound)
		snprintf(buffer, BP_QUANTITY_BYTES, "%s%.*f%s%s", bound, decimals, estimate, space,
			unit->name);
	else if (figure->lower_bound || figure->upper_bound)
		snprintf(
			buffer, BP_QUANTITY_BYTES, "%s%.32s%s%s", bound, number, space, unit->name);
	else if (known)
		snprintf(buffer, BP_QUANTITY_BYTES, "%s%.*f%s%s", utf8 ? "≈ " : "about ", decimals,
			estimate, space, unit->name);
	else if (units == units_count && longer > LOPSIDED * shorter)
		snprintf(buffer, BP_QUANTITY_BYTES, "%.*f [%.*f, %.*f]%s%s", decimals, estimate,
			decimals, low, decimals, high, space, unit->name);
	else if (units == units_count)
		snprintf(buffer, BP_QUANTITY_BYTES, "%.*f %s%.*f%s%s", decimals, estimate,
			utf8 ? "±" : "+-", decimals, longer, space, unit->name);
	else if (longer > LOPSIDED * shorter)
		snprintf(buffer, BP_QUANTITY_BYTES, "%.*f%s%s [%.*f, %.*f]", decimals, estimate,
			space, unit->name, decimals, low, decimals, high);
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "%.*f%s%s %s%.*f", decimals, estimate, space,
			unit->name, utf8 ? "±" : "+-", decimals, longer);
}

/* Figures beyond this are not known at all. */
static bool is_known(const struct bp_interval *interval)
{
	return isfinite(interval->low) && isfinite(interval->high) && interval->high < 0x1p64;
}

static void known_text(const struct bp_figure *figure, const struct unit *units,
	struct bp_quantity_style style, char *buffer)
{
	const struct bp_interval *interval = &figure->interval;
	if (!is_known(interval)) {
		snprintf(buffer, BP_QUANTITY_BYTES, "not known");
	} else if (interval->low == interval->high) {
		const int used = snprintf(buffer, BP_QUANTITY_BYTES, "%s", bound_text(figure));
		char text[BP_QUANTITY_BYTES];
		if (units == units_count)
			bp_count_text((uint64_t)interval->low, text);
		else
			bp_bytes_text((uint64_t)interval->low, style, text);
		snprintf(buffer + used, (size_t)(BP_QUANTITY_BYTES - used), "%.64s", text);
	} else {
		figure_text(figure, units, style.utf8, buffer);
	}
}

void bp_bytes_figure_text(
	const struct bp_figure *figure, struct bp_quantity_style style, char *buffer)
{
	known_text(figure, style.si ? units_si : units_binary, style, buffer);
}

void bp_objects_figure_text(
	const struct bp_figure *figure, struct bp_quantity_style style, char *buffer)
{
	known_text(figure, units_count, style, buffer);
}

static void estimate_text(
	const struct bp_figure *figure, const struct unit *units, bool utf8, char *buffer)
{
	const struct bp_interval *i = &figure->interval;
	const struct unit *unit = unit_for(units, i->estimate);
	double longer = fmax(i->estimate - i->low, i->high - i->estimate) / unit->factor;
	if (bp_is_vague(i) || figure->lower_bound || figure->upper_bound)
		figure_text(figure, units, utf8, buffer);
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "%.*f%s%s",
			decimals_for(longer, i->estimate / unit->factor),
			i->estimate / unit->factor, *unit->name != '\0' ? " " : "", unit->name);
}

void bp_bytes_estimate_text(
	const struct bp_figure *figure, struct bp_quantity_style style, char *buffer)
{
	if (!is_known(&figure->interval) || figure->interval.low == figure->interval.high)
		bp_bytes_figure_text(figure, style, buffer);
	else
		estimate_text(figure, style.si ? units_si : units_binary, style.utf8, buffer);
}

void bp_objects_estimate_text(
	const struct bp_figure *figure, struct bp_quantity_style style, char *buffer)
{
	if (!is_known(&figure->interval) || figure->interval.low == figure->interval.high)
		bp_objects_figure_text(figure, style, buffer);
	else
		estimate_text(figure, units_count, style.utf8, buffer);
}

/* A change that is known, or nearly. */
static void exact_change_text(
	const struct bp_interval *i, const struct unit *units, const char *per, char *buffer)
{
	const struct unit *unit = unit_for(units, fabs(i->estimate));
	double value = i->estimate / unit->factor;
	snprintf(buffer, BP_QUANTITY_BYTES, "%+.*f%s%s%s",
		value == floor(value) ? 0 : decimals_exact(fabs(value)), value,
		*unit->name != '\0' ? " " : "", unit->name, per);
}

/* A number with its sign; what rounds to nothing has none. */
static const char *signed_text(double value, int decimals, char *buffer)
{
	snprintf(buffer, BP_QUANTITY_BYTES, "%+.*f", decimals, value);
	if (strspn(buffer + 1, "0.") == strlen(buffer + 1))
		strcpy(buffer, "0");
	return buffer;
}

static void change_text(const struct bp_figure *figure, const struct unit *units,
	struct bp_quantity_style style, const char *per, char *buffer)
{
	const struct bp_interval *i = &figure->interval;
	bool open = i->low < 0 && i->high > 0;
	const struct unit *unit =
		unit_for(units, open ? fmax(-i->low, i->high) : fabs(i->estimate));
	double low = i->low / unit->factor, high = i->high / unit->factor;
	double estimate = i->estimate / unit->factor, longer, shorter;
	const char *space = *unit->name != '\0' ? " " : "";
	longer = fmax(estimate - low, high - estimate);
	shorter = fmin(estimate - low, high - estimate);
	int decimals = decimals_for(longer, fmax(fabs(low), fabs(high)));
	bool one_sided = figure->lower_bound != figure->upper_bound;
	char texts[3][BP_QUANTITY_BYTES];
	signed_text(low, decimals, texts[0]);
	signed_text(high, decimals, texts[1]);
	signed_text(estimate, decimals, texts[2]);
	if (!isfinite(low) || !isfinite(high) || (figure->lower_bound && figure->upper_bound))
		snprintf(buffer, BP_QUANTITY_BYTES, "not known");
	else if (one_sided)
		snprintf(buffer, BP_QUANTITY_BYTES, "at %s %.24s%s%s%s",
			figure->lower_bound ? "least" : "most", texts[figure->lower_bound ? 0 : 1],
			space, unit->name, per);
	else if (is_below(longer, decimals_exact(fabs(estimate))) && !open)
		exact_change_text(i, units, per, buffer);
	else if (open)
		snprintf(buffer, BP_QUANTITY_BYTES, "[%.24s, %.24s]%s%s%s", texts[0], texts[1],
			space, unit->name, per);
	else if (longer > LOPSIDED * shorter)
		snprintf(buffer, BP_QUANTITY_BYTES, "%.24s%s%s%s [%.24s, %.24s]", texts[2], space,
			unit->name, per, texts[0], texts[1]);
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "%.24s%s%s%s %s%.*f", texts[2], space,
			unit->name, per, style.utf8 ? "±" : "+-", decimals, longer);
}

void bp_bytes_change_text(const struct bp_figure *figure, struct bp_quantity_style style,
	const char *per, char *buffer)
{
	change_text(figure, style.si ? units_si : units_binary, style, per, buffer);
}

void bp_objects_change_text(const struct bp_figure *figure, struct bp_quantity_style style,
	const char *per, char *buffer)
{
	change_text(figure, units_count, style, per, buffer);
}

void bp_bytes_limits_text(
	const struct bp_interval *interval, struct bp_quantity_style style, char *buffer)
{
	const struct unit *unit = unit_for(style.si ? units_si : units_binary,
		fmax(fabs(interval->low), fabs(interval->high)));
	const double low = interval->low / unit->factor, high = interval->high / unit->factor;
	const int decimals = decimals_for((high - low) / 2, fmax(fabs(low), fabs(high)));
	char texts[2][BP_QUANTITY_BYTES];
	if (!isfinite(low) || !isfinite(high))
		snprintf(buffer, BP_QUANTITY_BYTES, "not known");
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "[%.32s, %.32s] %s",
			signed_text(low, decimals, texts[0]), signed_text(high, decimals, texts[1]),
			unit->name);
}

unsigned bp_text_columns(const char *text)
{
	unsigned columns = 0;
	for (; *text != '\0'; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}
