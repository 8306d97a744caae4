/* SPDX-License-Identifier: MIT */
/*
 * Suppressions in the syntax of LeakSanitizer (`leak:PATTERN`) for what is live at the end: one for
 * each function whose live objects are established, that is whose lower limit is above zero, with
 * the figure and its interval as a comment. A pattern has `*` for anything, `^` and `$` for the
 * ends; characters of a name that would mean something there, or that do not belong in a file of
 * lines, become `*`. Functions without a name have no pattern; comments say what they hold. The
 * same file is read by `bytepoll report --suppressions` and by programs built with -fsanitize=leak.
 */
#include <stdlib.h>
#include <string.h>

#include "export/clean_text.h"
#include "export/export.h"
#include "report/report.h"
#include "text/quantity.h"

/* module+0x1a2b, or nothing at all. */
static bool has_name(const char *name)
{
	const char *plus = strrchr(name, '+');
	if (*name == '\0' || *name == '(')
		return false;
	return plus == NULL || strncmp(plus, "+0x", 3) != 0 ||
	       plus[3 + strspn(plus + 3, "0123456789abcdef")] != '\0';
}

/* Escapes of the cleaned text (\x1b) are no part of the name either. */
static void write_pattern(const char *clean, FILE *out)
{
	while (*clean != '\0') {
		if (*clean == '\\') {
			putc('*', out);
			clean += clean[1] == 'u' ? strcspn(clean, "}") : strnlen(clean, 3);
			clean += *clean != '\0';
		} else {
			putc(*clean++, out);
		}
	}
}

static void write_head(const struct bp_aggregation *aggregation, FILE *out)
{
	struct bp_clean_text clean = { 0 };
	char line[BP_EXPORT_LINE_BYTES];
	const struct bp_profile *profile = aggregation->profile;
	const char *command = bp_clean_text(&clean,
		bp_profile_text(
			profile, profile->processes.data[aggregation->subject.i].command_line),
		"", ' ');
	bp_export_total_line(aggregation, BP_METRIC_LIVE, line);
	fprintf(out, "# %s\n# %s\n", command != NULL ? command : "", line);
	bp_export_sampling_line(aggregation, line);
	fprintf(out, "# %s\n", line);
	fputs("# Functions whose live objects are established, largest first.\n", out);
	bp_clean_text_finish(&clean);
}

static bool write_suppressions(
	const struct bp_export_source *source, FILE *out, struct bp_error *error)
{
	const struct bp_aggregation *aggregation = source->asked;
	const struct bp_quantity_style style = { .utf8 = true };
	struct bp_clean_text clean = { 0 };
	char bytes[BP_QUANTITY_BYTES];
	struct bp_row row;
	bool good = true;
	write_head(aggregation, out);
	for (uint32_t i = 0; good && i < aggregation->row_count; i++) {
		bp_aggregation_row(aggregation, i, &row);
		if (!(row.bytes.interval.low > 0) && !(row.objects.interval.low > 0))
			continue;
		const bool named = has_name(row.name);
		const char *name = bp_clean_text(&clean, row.name, named ? "*^$" : "", '*');
		good = name != NULL || bp_error_set(error, "out of memory");
		if (!good)
			break;
		bp_bytes_figure_text(&row.bytes, style, bytes);
		fprintf(out, "\n# %s, %llu sample%s\n", bytes, (unsigned long long)row.samples,
			row.samples == 1 ? "" : "s");
		fputs(named ? "leak:" : "# without a name: ", out);
		if (named)
			write_pattern(name, out);
		else
			fputs(name, out);
		putc('\n', out);
	}
	bp_clean_text_finish(&clean);
	return good;
}

const struct bp_export bp_export_suppressions = {
	.name = "suppressions", .by_rows = true, .live_only = true, .write = write_suppressions
};
