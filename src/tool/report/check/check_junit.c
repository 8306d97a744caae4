/* SPDX-License-Identifier: MIT */
/*
 * The check as JUnit XML, in the form that CI systems agree upon: <testsuites>, <testsuite>,
 * <testcase>. A failure is a limit that is exceeded and nothing else, so that a system that counts
 * failures counts findings; what could not be decided is an <error>, or <skipped> where the check
 * lets it pass. Characters that XML has no form for (controls) stand as \x1b. See check.h.
 */
#include <string.h>

#include "report/check/check_report.h"
#include "text/escape.h"

static void put_entity(FILE *out, char special)
{
	fprintf(out, "&#%u;", (unsigned)special);
}

/* Text for an element or an attribute in double quotes. */
static void put_xml(FILE *out, const char *text)
{
	bp_write_visible(out, text, "&<>\"'", put_entity);
}

static void put_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	put_xml(out, value);
	putc('"', out);
}

/* What keeps the case from passing, with all that is to be said of it. */
static void write_fault(FILE *out, const struct bp_check_result *result, const char *element)
{
	struct bp_quantity_style style = { .utf8 = true };
	char words[BP_CHECK_WORDS_BYTES];
	fprintf(out, "      <%s", element);
	bp_check_finding(result, style, words);
	put_attribute(out, "message", words);
	if (strcmp(element, "skipped") != 0)
		put_attribute(out, "type", bp_outcome_names[result->outcome]);
	putc('>', out);
	put_xml(out, result->limit->text);
	fputs(": ", out);
	put_xml(out, words);
	bp_check_advice(result, words);
	fputs(*words != '\0' ? "; " : "", out);
	put_xml(out, words);
	fprintf(out, "</%s>\n", element);
}

static const char *element_of(const struct bp_check *check, enum bp_outcome outcome)
{
	if (outcome == BP_OUTCOME_EXCEEDED)
		return "failure";
	return check->undecided_allowed ? "skipped" : "error";
}

static void write_case(
	FILE *out, const struct bp_check *check, const struct bp_check_result *result)
{
	struct bp_quantity_style style = { .utf8 = true };
	char words[BP_CHECK_WORDS_BYTES];
	fputs("    <testcase", out);
	put_attribute(out, "classname", result->file);
	put_attribute(out, "name", result->limit->text);
	fputs(" time=\"0\">\n", out);
	if (result->outcome != BP_OUTCOME_WITHIN)
		write_fault(out, result, element_of(check, result->outcome));
	fputs("      <system-out>", out);
	bp_check_finding(result, style, words);
	put_xml(out, words);
	bp_check_note(result, words);
	fputs(*words != '\0' ? "; " : "", out);
	put_xml(out, words);
	fputs("</system-out>\n    </testcase>\n", out);
}

void bp_check_write_junit(const struct bp_check *check, FILE *out)
{
	unsigned counts[BP_OUTCOME_COUNT] = { 0 }, errors, skipped;
	for (uint32_t i = 0; i < check->count; i++)
		counts[check->results[i].outcome]++;
	errors = check->undecided_allowed ? 0 : counts[BP_OUTCOME_UNDECIDED];
	skipped = check->undecided_allowed ? counts[BP_OUTCOME_UNDECIDED] : 0;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
	fprintf(out,
		"  <testsuite name=\"bytepoll check\" tests=\"%u\" failures=\"%u\" errors=\"%u\" "
		"skipped=\"%u\" time=\"0\">\n",
		check->count, counts[BP_OUTCOME_EXCEEDED], errors, skipped);
	for (uint32_t i = 0; i < check->count; i++)
		write_case(out, check, &check->results[i]);
	fputs("    <system-err>", out);
	for (uint32_t i = 0; i < check->warning_count; i++) {
		put_xml(out, check->warnings[i].file);
		fputs(": ", out);
		put_xml(out, check->warnings[i].sentence);
		putc('\n', out);
	}
	fputs("</system-err>\n  </testsuite>\n</testsuites>\n", out);
}
