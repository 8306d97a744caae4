/* SPDX-License-Identifier: MIT */
/*
 * Charts as SVG: text of any kind comes out as XML can hold it, and what lies outside the axes is
 * cut off instead of running out of the picture. That whole documents are well-formed, and what the
 * plan draws, is the subject of tests/unit/cli/plan.py.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "plan/charts/chart_svg.h"

static void expect_escaped(const char *text, const char *wanted)
{
	char buffer[256] = "";
	FILE *out = fmemopen(buffer, sizeof buffer, "w");
	assert_non_null(out);
	bp_write_xml_text(out, text);
	fclose(out);
	assert_string_equal(buffer, wanted);
}

static void test_text(void **state)
{
	(void)state;
	expect_escaped("T x 2, \xc2\xb1 5 %", "T x 2, \xc2\xb1 5 %");
	expect_escaped("</text><script>&\"", "&lt;/text&gt;&lt;script&gt;&amp;&quot;");
	expect_escaped("a\x01\n\x1b[31m", "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd[31m");
	expect_escaped("\xff\xc3(", "\xef\xbf\xbd\xef\xbf\xbd(");
	expect_escaped("\xef\xbf\xbf", "\xef\xbf\xbd"); /* U+FFFF, which XML excludes */
	expect_escaped("", "");
}

static char *drawn(const struct bp_chart *chart)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	assert_non_null(out);
	bp_chart_svg_write("<title>", "a & b", chart, 1, out);
	fclose(out);
	return text;
}

static void test_chart(void **state)
{
	(void)state;
	static const struct bp_chart_tick ticks[] = { { 1, "1" }, { 10, "<10>" } };
	static const double x[] = { 0, 1, 10, 100, 1e300 }, y[] = { 1, INFINITY, 3, -1e300, 5 };
	const struct bp_chart_series series = { "a<b", 3, x, y, BP_COUNT(x) };
	const struct bp_chart chart = {
		.title = "'quoted' & \"so\"",
		.remark = "r",
		.legend = "l",
		.x = { "x<y", 1, 100, true, ticks, BP_COUNT(ticks) },
		.y = { "y", 0, 10, false, ticks, BP_COUNT(ticks) },
		.series = &series,
		.series_count = 1,
	};
	char *text = drawn(&chart);
	assert_non_null(strstr(text, "&lt;title&gt;"));
	assert_non_null(strstr(text, "a &amp; b"));
	assert_non_null(strstr(text, "x&lt;y"));
	assert_non_null(strstr(text, "&lt;10&gt;"));
	assert_non_null(strstr(text, "a&lt;b"));
	assert_non_null(strstr(text, "class=\"line c3\""));
	assert_null(strstr(text, "inf"));
	assert_null(strstr(text, "nan"));
	/* Logarithmic: 10 is in the middle of 1 to 100; 640 and 330 are the plot. */
	assert_non_null(strstr(text, " 320.0,231.0 "));
	/* Outside: at most the plot again beyond each edge. */
	assert_non_null(strstr(text, "points=\"-640.0,297.0 0.0,-330.0 320.0,231.0 640.0,660.0 "
				     "1280.0,165.0\""));
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_chart),
	};
	return cmocka_run_group_tests_name("report chart svg", tests, NULL, NULL);
}
