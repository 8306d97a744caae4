/* SPDX-License-Identifier: MIT */
/*
 * The check as annotations of GitHub's workflows: lines `::error title=...::message` on standard
 * output, which the runner takes out of the log and shows on the page of the run. In a message % is
 * escaped, in a property : and , too; line ends and other controls, by which a name could begin a
 * command of its own, stand as \x0a. See check.h.
 */
#include "report/check/check_report.h"
#include "text/escape.h"

static void put_percent(FILE *out, char special)
{
	fprintf(out, "%%%02X", (unsigned)special);
}

static void put_escaped(FILE *out, const char *text, const char *special)
{
	bp_write_visible(out, text, special, put_percent);
}

static void write_annotation(
	FILE *out, const char *command, const struct bp_check_result *result, const char *message)
{
	char words[BP_CHECK_WORDS_BYTES];
	fprintf(out, "::%s title=bytepoll check %s%%3A ", command,
		bp_outcome_names[result->outcome]);
	put_escaped(out, result->limit->text, "%:,");
	fputs("::", out);
	put_escaped(out, result->file, "%");
	fputs(": ", out);
	put_escaped(out, message, "%");
	bp_check_advice(result, words);
	fputs(*words != '\0' ? "; " : "", out);
	put_escaped(out, words, "%");
	putc('\n', out);
}

void bp_check_write_github(const struct bp_check *check, FILE *out)
{
	struct bp_quantity_style style = { .utf8 = true };
	char words[BP_CHECK_WORDS_BYTES];
	/* Those that bear on every limit; what else was wrong is in the text. */
	for (uint32_t i = 0; i < check->warning_count; i++) {
		if (!check->warnings[i].first)
			continue;
		fputs("::warning title=bytepoll check::", out);
		put_escaped(out, check->warnings[i].file, "%");
		fputs(": ", out);
		put_escaped(out, check->warnings[i].sentence, "%");
		putc('\n', out);
	}
	for (uint32_t i = 0; i < check->count; i++) {
		const struct bp_check_result *result = &check->results[i];
		bp_check_finding(result, style, words);
		if (result->outcome != BP_OUTCOME_WITHIN)
			write_annotation(out,
				result->outcome == BP_OUTCOME_EXCEEDED ? "error" : "warning",
				result, words);
		bp_check_note(result, words);
		if (result->outcome == BP_OUTCOME_WITHIN && result->nothing_matches)
			write_annotation(out, "warning", result, words);
	}
}
