/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll fleet top|tree|growth|diff|check|html STORE...`: questions about many recordings,
 * which lie as tables in folders or in a bucket (docs/parquet-format.md), or in a database of
 * ClickHouse. DuckDB, or the server, selects and counts, and figures are made as `bytepoll report`
 * makes them (fleet/fleet.h).
 */
#include <string.h>
#include <time.h>

#include "base/attributes.h"
#include "cli/command.h"
#include "cli/fleet/fleet_bucket.h"
#include "cli/fleet/fleet_request.h"
#include "cli/options/allocator_options.h"
#include "cli/options/bucket_options.h"
#include "cli/options/options.h"
#include "cli/terminal/pager.h"
#include "query/filter.h"
#include "query/view.h"

#define EXIT_FAILED 1
#define EXIT_CHECK_FAILED 2

static const char *const words[BP_FLEET_WORDS] = { "top", "tree", "growth", "diff", "check",
	"html" };

/* Options that not all of these take; by a bit for each word. */
static const struct {
	const char *name;
	unsigned words;
} taken[] = {
	{ "by", 1u << BP_FLEET_TOP | 1u << BP_FLEET_GROWTH | 1u << BP_FLEET_DIFF },
	{ "cumulative", 1u << BP_FLEET_TOP | 1u << BP_FLEET_GROWTH | 1u << BP_FLEET_DIFF },
	{ "sort", 1u << BP_FLEET_TOP },
	{ "rows", 1u << BP_FLEET_TOP | 1u << BP_FLEET_GROWTH | 1u << BP_FLEET_DIFF },
	{ "metric", 1u << BP_FLEET_TOP | 1u << BP_FLEET_TREE | 1u << BP_FLEET_DIFF |
			    1u << BP_FLEET_HTML },
	{ "csv", 1u << BP_FLEET_TOP },
	{ "confidence", 1u << BP_FLEET_TOP | 1u << BP_FLEET_GROWTH | 1u << BP_FLEET_TREE |
				1u << BP_FLEET_DIFF | 1u << BP_FLEET_HTML },
	{ "allocators", 1u << BP_FLEET_TOP | 1u << BP_FLEET_GROWTH | 1u << BP_FLEET_DIFF |
				1u << BP_FLEET_CHECK | 1u << BP_FLEET_HTML },
	{ "release", 1u << BP_FLEET_TOP | 1u << BP_FLEET_GROWTH | 1u << BP_FLEET_TREE |
			     1u << BP_FLEET_CHECK | 1u << BP_FLEET_HTML },
	{ "from", ~(1u << BP_FLEET_DIFF) },
	{ "until", ~(1u << BP_FLEET_DIFF) },
	{ "at", 1u << BP_FLEET_TOP | 1u << BP_FLEET_TREE | 1u << BP_FLEET_CHECK },
	{ "output", 1u << BP_FLEET_HTML },
	{ "force", 1u << BP_FLEET_HTML },
	{ "json", ~(1u << BP_FLEET_HTML) },
	{ "si", ~(1u << BP_FLEET_HTML) },
	{ "no-pager", ~(1u << BP_FLEET_HTML) },
	{ "base", 1u << BP_FLEET_DIFF },
	{ "new", 1u << BP_FLEET_DIFF },
	{ "hosts", ~(1u << BP_FLEET_HTML) },
	{ "host-count", 1u << BP_FLEET_TOP | 1u << BP_FLEET_TREE | 1u << BP_FLEET_CHECK },
	{ "objects", 1u << BP_FLEET_DIFF },
	{ "all", 1u << BP_FLEET_DIFF },
	{ "fdr", 1u << BP_FLEET_DIFF },
	{ "limit", 1u << BP_FLEET_CHECK },
	{ "false-alarm", 1u << BP_FLEET_CHECK },
};

static bool read_word(const struct bp_arguments *arguments, struct bp_fleet_request *request,
	struct bp_error *error)
{
	int word = 0;
	if (arguments->operand_count < 2)
		return bp_error_set(error, "what, and of which folder? bytepoll fleet top FOLDER");
	while (word < BP_FLEET_WORDS && strcmp(words[word], arguments->operands[0]) != 0)
		word++;
	if (word == BP_FLEET_WORDS)
		return bp_error_set(error, "no '%s': top, tree, growth, diff, check or html",
			arguments->operands[0]);
	request->word = (enum bp_fleet_word)word;
	for (size_t i = 0; i < BP_COUNT(taken); i++)
		if (bp_option_given(arguments, taken[i].name) && !(taken[i].words & 1u << word))
			return bp_error_set(error, "--%s is not for %s: leave it out",
				taken[i].name, words[word]);
	const bool sides = bp_option_given(arguments, "base") && bp_option_given(arguments, "new");
	if (word == BP_FLEET_HTML && !bp_option_given(arguments, "output"))
		return bp_error_set(error, "where to? -o FILE, or -o - for standard output");
	return word != BP_FLEET_DIFF || sides ||
	       bp_error_set(error, "two releases are compared: --base RELEASE --new RELEASE");
}

/* All values of one option. */
static bool read_values(const struct bp_arguments *arguments, const char *name, const char **values,
	uint32_t *ret_count, struct bp_error *error)
{
	*ret_count = 0;
	for (int i = 0; i < arguments->given_count; i++) {
		const struct bp_given *given = &arguments->given[i];
		if (strcmp(given->option->name, name) != 0)
			continue;
		if (*ret_count == BP_FLEET_VALUES_MAX)
			return bp_error_set(error, "--%s: more than %d", name, BP_FLEET_VALUES_MAX);
		values[(*ret_count)++] = given->value;
	}
	return true;
}

/* Seconds may have a part behind a point. */
bool bp_fleet_date_read(const char *text, int64_t *ret_ns)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };
	for (size_t i = 0; i < BP_COUNT(forms); i++) {
		struct tm moment = { .tm_mday = 1 };
		const char *end = strptime(text, forms[i], &moment);
		int64_t part_ns = 0, digit_ns = 100000000;
		if (end != NULL && *end == '.')
			for (end++; *end >= '0' && *end <= '9'; end++, digit_ns /= 10)
				part_ns += (*end - '0') * digit_ns;
		if (end == NULL || (*end != '\0' && strcmp(end, "Z") != 0))
			continue;
		const int day = moment.tm_mday;
		const int64_t second = timegm(&moment);
		/* (The 31st of February is one of March to timegm.) */
		if (moment.tm_mday != day)
			return false;
		/* A time that nanoseconds do not reach is later, or earlier, than all. */
		if (__builtin_mul_overflow(second, INT64_C(1000000000), ret_ns) ||
			__builtin_add_overflow(*ret_ns, part_ns, ret_ns))
			*ret_ns = second < 0 ? INT64_MIN : INT64_MAX;
		return true;
	}
	return false;
}

static bool read_date(const struct bp_arguments *arguments, const char *name, int64_t *ret_ns,
	struct bp_error *error)
{
	const char *text = bp_option_value(arguments, name);
	return text == NULL || bp_fleet_date_read(text, ret_ns) ||
	       bp_error_set(error,
		       "--%s %s: write a date, or a date and a time, in UTC: 2026-01-31T23:59",
		       name, text);
}

static bool read_filter(const struct bp_arguments *arguments, struct bp_fleet_request *request,
	struct bp_error *error)
{
	struct bp_fleet_filter *filter = &request->filter;
	filter->services = request->values[0];
	filter->releases = request->values[1];
	filter->hosts = request->values[2];
	filter->tags = request->values[3];
	filter->since_ns = INT64_MIN;
	filter->until_ns = INT64_MAX;
	return read_values(
		       arguments, "service", request->values[0], &filter->service_count, error) &&
	       read_values(
		       arguments, "release", request->values[1], &filter->release_count, error) &&
	       read_values(arguments, "host", request->values[2], &filter->host_count, error) &&
	       read_values(arguments, "tag", request->values[3], &filter->tag_count, error) &&
	       read_date(arguments, "since", &filter->since_ns, error) &&
	       read_date(arguments, "before", &filter->until_ns, error);
}

static struct bp_fleet_detail detail_of(const struct bp_query *query)
{
	/* A limit may have a filter of any key: it is read later. */
	struct bp_fleet_detail detail = { .threads = query->by == BP_KEY_THREAD,
		.labels = query->by == BP_KEY_LABEL,
		.types = query->by == BP_KEY_TYPE || query->by == BP_KEY_KIND,
		.origin = query->by == BP_KEY_ORIGIN ? query->label : NULL };
	for (uint32_t i = 0; i < query->filter_count; i++) {
		const enum bp_key key = query->filters[i].key;
		detail.threads = detail.threads || key == BP_KEY_THREAD;
		detail.labels = detail.labels || key == BP_KEY_LABEL;
		detail.types = detail.types || key == BP_KEY_TYPE || key == BP_KEY_KIND;
	}
	return detail;
}

bool bp_fleet_is_sample(const struct bp_fleet_request *request)
{
	return strcmp(bp_option_value_or(request->arguments, "hosts", "all"), "sample") == 0;
}

/* What times within a run are not for. */
static bool check_times(const struct bp_fleet_request *request, struct bp_error *error)
{
	if (request->word == BP_FLEET_HTML)
		return bp_error_set(error,
			"html: the figures of a page are made from the totals of whole runs, so that a "
			"part of their time cannot be one: see `bytepoll fleet top`");
	if (request->word == BP_FLEET_GROWTH)
		return bp_error_set(error,
			"--filter time: growth is between the moments of --from and --until: leave "
			"the filter out");
	const struct bp_query *query = &request->query_options.query;
	for (uint32_t i = 0; query->of_day && i < query->filter_count; i++)
		if (query->filters[i].of_time)
			return bp_error_set(error,
				"--filter %s: is of times since the start of each run, which dates of "
				"--from, --until and --at do not go with: leave one of them out",
				query->filters[i].text);
	return true;
}

/* Rows of what a store says of runs: not where each side, or each machine, has one of them. */
static bool check_origin(const struct bp_fleet_request *request, struct bp_error *error)
{
	const struct bp_query *query = &request->query_options.query;
	if (query->by != BP_KEY_ORIGIN)
		return true;
	if (request->word == BP_FLEET_DIFF && strcmp(query->label, "release") == 0)
		return bp_error_set(
			error, "diff --by release: each side is one release: leave --by out");
	if (bp_fleet_is_sample(request) && strcmp(query->label, "host") == 0)
		return bp_error_set(error,
			"--by host: rows of --hosts sample are means over hosts: leave one of them "
			"out");
	return true;
}

static bool read_request(const struct bp_arguments *arguments, struct bp_fleet_request *request,
	struct bp_error *error)
{
	struct bp_query *query = &request->query_options.query;
	request->arguments = arguments;
	if (!read_word(arguments, request, error) || !read_filter(arguments, request, error) ||
		!bp_query_options_read(arguments, &request->query_options, error))
		return false;
	if (bp_query_filters_frees(query))
		return bp_error_set(error,
			"--filter " BP_FREED_BY ": a store does not keep where objects were freed: "
			"see `bytepoll report` for one recording");
	if (query->metric == BP_METRIC_PEAK)
		return bp_error_set(error,
			"--metric peak: every run has its peak at a moment of its own, and their "
			"sum has none: see `bytepoll report` for that of one");
	if (request->word != BP_FLEET_GROWTH && !bp_fleet_window_read(arguments, query, error))
		return false;
	request->filter.times = bp_fleet_times_of(query);
	if (request->filter.times.cut_count > 0 && !check_times(request, error))
		return false;
	if (bp_option_given(arguments, "json") && bp_option_given(arguments, "csv"))
		return bp_error_set(error, "--json and --csv: choose one");
	if (bp_option_given(arguments, "host-count") && !bp_fleet_is_sample(request))
		return bp_error_set(error,
			"--host-count: figures are of the runs that are there: --hosts sample "
			"takes their hosts for a sample of so many");
	if (bp_option_given(arguments, "csv") && bp_fleet_is_sample(request))
		return bp_error_set(error, "--csv: not with --hosts sample: see --json");
	if (request->word == BP_FLEET_TREE)
		query->by = BP_KEY_STACK;
	if (request->word == BP_FLEET_GROWTH) {
		if (!bp_fleet_moments_read(arguments, &request->moments, error))
			return false;
		if (query->by == BP_KEY_PROCESS)
			return bp_error_set(error,
				"growth --by process: a process has no counterpart at another "
				"moment: leave --by out, or choose a run by --tag");
		request->filter.moments = &request->moments;
	}
	if (!check_origin(request, error))
		return false;
	request->detail = detail_of(query);
	if (request->word == BP_FLEET_HTML)
		request->detail.threads = request->detail.types = true;
	if (request->word == BP_FLEET_CHECK)
		request->detail =
			(struct bp_fleet_detail){ .threads = true, .labels = true, .types = true };
	return true;
}

bool bp_fleet_profile(const struct bp_fleet_request *request, const struct bp_fleet_filter *filter,
	struct bp_profile *ret_profile, struct bp_error *error)
{
	if (!bp_fleet_read(&request->store, filter, request->detail, ret_profile, error))
		return false;
	/* (A host of a sample may have nothing that late.) */
	if (!bp_fleet_is_sample(request) &&
		!bp_view_check_from(ret_profile, filter->times.from_ns, error)) {
		bp_profile_finish(ret_profile);
		return false;
	}
	ret_profile->allocators = bp_allocator_options();
	return true;
}

/* The options about buckets have no effect where no operand is one. */
static bool check_buckets(const struct bp_arguments *arguments, struct bp_error *error)
{
	for (int i = 1; i < arguments->operand_count; i++)
		if (bp_bucket_is_address(arguments->operands[i]))
			return true;
	return bp_bucket_options_refuse(arguments, error);
}

static bool add_store(struct bp_fleet_request *request, const char *place, struct bp_error *error)
{
	struct bp_bucket bucket;
	if (!bp_bucket_is_address(place))
		return bp_store_add(&request->store, place, error);
	if (!bp_bucket_options_open(request->arguments, place, &bucket, error))
		return false;
	const bool good = bp_fleet_bucket_add(&bucket, &request->store, error);
	bp_bucket_close(&bucket);
	return good;
}

static int fleet(const struct bp_arguments *arguments)
{
	static int (*const answers[])(
		const struct bp_fleet_request *, struct bp_error *) = { bp_fleet_show,
		bp_fleet_show, bp_fleet_growth, bp_fleet_diff, bp_fleet_check, bp_fleet_html };
	struct bp_fleet_request request = { 0 };
	struct bp_error error = { 0 };
	if (!read_request(arguments, &request, &error) || !check_buckets(arguments, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	const int failed = request.word == BP_FLEET_CHECK ? EXIT_CHECK_FAILED : EXIT_FAILED;
	bool good = true;
	for (int i = 1; good && i < arguments->operand_count; i++)
		good = add_store(&request, arguments->operands[i], &error);
	const int status = good ? answers[request.word](&request, &error) : failed;
	bp_store_finish(&request.store);
	return *error.text != '\0' ? bp_command_fail(failed, &error) : status;
}

static const struct bp_option options[] = {
	{ .summary = "Which recordings" },
	{ .name = "service",
		.argument = "NAME",
		.repeatable = true,
		.summary = "those of this service; of one of several" },
	{ .name = "release",
		.argument = "NAME",
		.repeatable = true,
		.summary = "those of this release, likewise" },
	{ .name = "host",
		.argument = "NAME",
		.repeatable = true,
		.summary = "those of this machine, likewise" },
	{ .name = "tag",
		.argument = "KEY=VALUE",
		.repeatable = true,
		.summary = "those with this tag; with all of several" },
	{ .name = "since",
		.argument = "DATE",
		.summary = "those that began then or later: 2026-01-31T23:59, UTC" },
	{ .name = "before", .argument = "DATE", .summary = "those that began before" },
	{ .name = "from",
		.argument = "MOMENT",
		.summary =
			"only what was allocated from then on: 600 or 2h of each run, or a DATE; "
			"growth: from then on" },
	{ .name = "until",
		.argument = "MOMENT",
		.summary = "only what was allocated before; growth: until then" },
	{ .name = "at", .argument = "MOMENT", .summary = "top, tree, check: live at this moment" },
	{ .name = "base", .argument = "RELEASE", .summary = "diff: compared with this release" },
	{ .name = "new", .argument = "RELEASE", .summary = "diff: this one" },
	{ .name = "hosts",
		.argument = "WHICH",
		.choices = "all|sample",
		.summary =
			"all but html: those recorded are all there are (default), or a sample of "
			"more" },
	{ .name = "host-count",
		.argument = "N",
		.summary =
			"top, tree, check: with --hosts sample, what so many hosts hold together" },
	{ .summary = "Where they are" },
	BP_OPTION_BUCKET,
	{ .summary = "What is counted" },
	BP_OPTION_METRIC,
	BP_OPTION_BYTES,
	BP_OPTION_FILTER,
	{ .name = "objects", .summary = "diff: verdicts and order by objects instead of bytes" },
	{ .name = "limit",
		.letter = 'l',
		.argument = "LIMIT",
		.repeatable = true,
		.summary = "check: live=200GiB, 'allocated:parse_*=10G' ..." },
	{ .summary = "How it is shown" },
	{ .name = "output",
		.letter = 'o',
		.argument = "FILE",
		.file = true,
		.summary = "html: where to (- for standard output)" },
	{ .name = "force",
		.letter = 'f',
		.summary = "html: replace a file that is there, unless it is a recording" },
	{ .name = "by",
		.letter = 'b',
		.argument = "KEY",
		.choices = BP_BY_CHOICES "|service|release|host|tag:KEY",
		.summary = "what a row stands for (default: function); the last four: of the run" },
	BP_OPTION_CUMULATIVE,
	BP_OPTION_ALLOCATORS,
	{ .name = "sort",
		.argument = "KEY",
		.choices = BP_CHOICES(BP_SORTS),
		.summary = "top: order of the rows (default: bytes)" },
	{ .name = "rows", .letter = 'n', .argument = "N", .summary = "how many rows (20)" },
	{ .name = "all", .summary = "diff: rows without a verdict too" },
	{ .name = "json", .summary = "JSON, as report, diff and check print it" },
	{ .name = "csv", .summary = "top: rows as CSV" },
	{ .name = "si",
		.summary = "kB, MB, GB instead of KiB, MiB, GiB",
		.without_effect_in = "json|csv" },
	BP_OPTION_NO_PAGER,
	{ .summary = "How it is estimated and judged" },
	BP_OPTION_CONFIDENCE,
	BP_OPTION_MIN_SIZE,
	{ .name = "fdr",
		.argument = "RATE",
		.summary = "diff: false ones among the verdicts, at most (default: 0.05)" },
	{ .name = "false-alarm",
		.argument = "RATE",
		.summary = "check: probability of a wrong verdict of the whole check (0.01)" },
	{ 0 },
};

const struct bp_command bp_command_fleet = {
	.name = "fleet",
	.summary = "ask about the recordings of many processes and machines",
	.usage = "[options] top|tree|growth|diff|check|html STORE...",
	.details =
		"Answers for the sum of many recordings, which `bytepoll push` has put into STORE, a\n"
		"folder, s3://BUCKET/PREFIX or clickhouse://HOST:PORT/DATABASE, with the intervals\n"
		"that `bytepoll report` would give all of them together:\n"
		"\n"
		"  top     where memory goes, by function, line, size ...\n"
		"  tree    the same by call tree\n"
		"  growth  what grew from one moment to another (--from, --until)\n"
		"  diff    one release against another (--base, --new)\n"
		"  html    a page to explore in a browser, as `bytepoll html` writes it\n"
		"  check   limits on the sum (--limit), for alerts\n"
		"\n"
		"DuckDB's command-line program reads the tables: it must be on PATH (`pip install\n"
		"duckdb-cli`). New runs of a bucket are fetched into ~/.cache/bytepoll/fleet first. A\n"
		"server of ClickHouse reads its own tables. (`bytepoll push --help` says who asks.)\n"
		"What is live is what each run held at its end. Runs have no common\n"
		"peak.",
	.options = options,
	.examples = "bytepoll fleet top fleet --service shop\n"
		    "    what all runs of shop held at their end\n"
		    "bytepoll fleet growth fleet --from 2026-01-31T10:00 --until 2026-01-31T14:00\n"
		    "    what all of them hold more and more of\n"
		    "bytepoll fleet diff fleet --service shop --base 1.3 --new 1.4\n"
		    "    what grew from one release to the next\n"
		    "bytepoll fleet check fleet --service shop --limit live=10GiB\n"
		    "    for an alert\n",
	.exit_statuses = "0  done; check: within all limits\n"
			 "1  failed: duckdb is not there, say; check: exceeded\n"
			 "2  wrong usage; check: failed\n"
			 "3  check: undecided\n",
	.usage_status = 2,
	.run = fleet,
};
