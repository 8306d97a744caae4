/* SPDX-License-Identifier: MIT */
/* Quantities as text: units, and no more digits than the interval supports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "text/quantity.h"

static const struct bp_quantity_style utf8 = { .utf8 = true }, ascii = { 0 },
				      si = { .utf8 = true, .si = true };

static struct bp_figure figure(double estimate, double low, double high)
{
	return (struct bp_figure){ .interval = { estimate, low, high, low == high, false } };
}

static void known_bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *binary, *decimal;
	} cases[] = { { 0, "0 B", "0 B" }, { 1, "1 B", "1 B" }, { 1023, "1023 B", "1.023 kB" },
		{ 1024, "1 KiB", "1.024 kB" }, { 1536, "1.500 KiB", "1.536 kB" },
		{ 524288, "512 KiB", "524.3 kB" }, { 1048575, "1.000 MiB", "1.049 MB" },
		{ 2098102272, "1.954 GiB", "2.098 GB" }, { UINT64_MAX, "16384 PiB", "18447 PB" } };
	char text[BP_QUANTITY_BYTES];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bp_bytes_text(cases[i].bytes, utf8, text);
		assert_string_equal(text, cases[i].binary);
		bp_bytes_text(cases[i].bytes, si, text);
		assert_string_equal(text, cases[i].decimal);
	}
}

static void known_counts(void **state)
{
	char text[BP_QUANTITY_BYTES];
	(void)state;
	bp_count_text(0, text);
	assert_string_equal(text, "0");
	bp_count_text(999, text);
	assert_string_equal(text, "999");
	bp_count_text(13246118, text);
	assert_string_equal(text, "13,246,118");
	bp_count_text(UINT64_MAX, text);
	assert_string_equal(text, "18,446,744,073,709,551,615");
}

static void percents(void **state)
{
	static const struct {
		double probability;
		const char *text;
	} cases[] = { { 0.95, "95" }, { 0.975, "97.5" }, { 1 - 0.02 / 3, "99.3333" },
		{ 0.99999, "99.999" }, { 0.9999999, "99.99999" }, { 1 - 1e-12, "99.9999999999" },
		{ 0.99999994, "99.999994" }, { 0.001, "0.1" }, { 1e-12, "1e-10" } };
	char text[BP_QUANTITY_BYTES];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bp_percent_text(cases[i].probability, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void times(void **state)
{
	char text[BP_QUANTITY_BYTES];
	(void)state;
	bp_time_text(41200000000u, text);
	assert_string_equal(text, "41.2 s");
	bp_time_text(1234000000u, text);
	assert_string_equal(text, "1.23 s");
	bp_time_text(312000000u, text);
	assert_string_equal(text, "312 ms");
	bp_time_text(2100, text);
	assert_string_equal(text, "2.1 us");
	bp_time_text(0, text);
	assert_string_equal(text, "0 ms");
}

static void estimates_of_bytes(void **state)
{
	const double m = 1 << 20;
	const struct {
		struct bp_figure figure;
		const char *text;
	} cases[] = {
		{ figure(561 * m, 529 * m, 594 * m), "561 MiB ±33" },
		{ figure(12.3 * m, 11.6 * m, 13.1 * m), "12.3 MiB ±0.8" },
		{ figure(702 * m, 644 * m, 740 * m), "702 MiB [644, 740]" },
		{ figure(14 * m, 9.5 * m, 19 * m), "14 MiB ±5" },
		{ figure(3.61 * m, 3.41 * m, 3.82 * m), "3.61 MiB ±0.21" },
		{ figure(1 * m, 0.1 * m, 2.8 * m), "[0.1, 2.8] MiB" },
		{ figure(0.2 * m, 0, 3.689 * m), "≤ 3.7 MiB" },
		{ figure(0, 0, 1889785), "≤ 1.8 MiB" },
		{ figure(0, 0, 0), "0 B" },
		{ figure(137, 137, 137), "137 B" },
		{ figure(100.4, 99.1, 101.9), "100.4 B ±1.5" },
	};
	char text[BP_QUANTITY_BYTES];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bp_bytes_figure_text(&cases[i].figure, utf8, text);
		assert_string_equal(text, cases[i].text);
	}
	struct bp_figure one = figure(561 * m, 529 * m, 594 * m);
	bp_bytes_figure_text(&one, ascii, text);
	assert_string_equal(text, "561 MiB +-33");
	bp_bytes_figure_text(&one, si, text);
	assert_string_equal(text, "588 MB ±35");
}

static void expect_text(double estimate, double low, double high, const char *expected)
{
	char text[BP_QUANTITY_BYTES];
	const struct bp_figure one = figure(estimate, low, high);
	bp_bytes_figure_text(&one, utf8, text);
	assert_string_equal(text, expected);
}

static void four_digits_are_enough(void **state)
{
	const double m = 1 << 20, g = 1 << 30;
	char text[BP_QUANTITY_BYTES];
	(void)state;
	expect_text(12.3456 * m, 12.3456 * m, 12.3520 * m, "12.35 MiB [12.35, 12.35]");
	expect_text(12.3456 * m, 12.3446 * m, 12.3466 * m, "≈ 12.35 MiB");
	expect_text(1.7886 * m, 1.7849 * m, 1.7886 * m, "1.789 MiB [1.785, 1.789]");
	expect_text(150 * m, 150 * m, 150.2 * m, "150.0 MiB [150.0, 150.2]");
	expect_text(1.2345 * g, 1.2335 * g, 1.2355 * g, "1.234 GiB ±0.001");
	struct bp_figure counted = figure(NAN, 35.75679 * g, 35.75701 * g);
	counted.interval.unknown = true;
	bp_bytes_figure_text(&counted, utf8, text);
	assert_string_equal(text, "≈ 35.76 GiB");
	const struct bp_figure change = figure(12.3456 * m, 12.3446 * m, 12.3466 * m);
	bp_bytes_change_text(&change, utf8, "", text);
	assert_string_equal(text, "+12.35 MiB");
}

static void sampling_in_words(void **state)
{
	char text[BP_QUANTITY_BYTES];
	(void)state;
	bp_sampling_text(512 << 10, 512 << 10, utf8, text);
	assert_string_equal(text, "1 sample per 512 KiB");
	bp_sampling_text(64 << 10, 512 << 10, utf8, text);
	assert_string_equal(text, "1 sample per 64 KiB to 512 KiB");
	bp_sampling_text(1, 1, utf8, text);
	assert_string_equal(text, "every object sampled");
}

static void bounds_say_so(void **state)
{
	const double m = 1 << 20;
	char text[BP_QUANTITY_BYTES];
	(void)state;
	struct bp_figure one = figure(561 * m, 529 * m, 594 * m);
	one.lower_bound = true;
	bp_bytes_figure_text(&one, utf8, text);
	assert_string_equal(text, "at least 529 MiB");
	one.upper_bound = true;
	bp_bytes_figure_text(&one, utf8, text);
	assert_string_equal(text, "about 561 MiB");
	one.lower_bound = false;
	bp_bytes_figure_text(&one, utf8, text);
	assert_string_equal(text, "at most 594 MiB");
	/* Counters of which one is a byte behind. */
	struct bp_figure near = figure(NAN, 8866 * m - 1, 8866 * m);
	near.interval.unknown = true;
	bp_bytes_figure_text(&near, utf8, text);
	assert_string_equal(text, "≈ 8.658 GiB");
	struct bp_figure vague = figure(1 * m, 0.1 * m, 2.8 * m);
	vague.lower_bound = true;
	bp_bytes_figure_text(&vague, utf8, text);
	assert_string_equal(text, "at least 0.10 MiB");
	/* What is written must hold, too: it is not rounded to the nearest. */
	vague.interval.low = 0.96 * m;
	vague.interval.high = 61 * m;
	bp_bytes_figure_text(&vague, utf8, text);
	assert_string_equal(text, "at least 0.96 MiB");
	one = figure(561 * m, 529.8 * m, 594.2 * m);
	one.lower_bound = true;
	bp_bytes_figure_text(&one, utf8, text);
	assert_string_equal(text, "at least 529 MiB");
	one.lower_bound = false;
	one.upper_bound = true;
	bp_bytes_figure_text(&one, utf8, text);
	assert_string_equal(text, "at most 595 MiB");
	vague.interval.low = 0;
	bp_bytes_figure_text(&vague, utf8, text);
	assert_string_equal(text, "not known");
	struct bp_figure exact = figure(137, 137, 137);
	exact.lower_bound = true;
	bp_bytes_figure_text(&exact, utf8, text);
	assert_string_equal(text, "at least 137 B");
}

static void estimates_of_objects(void **state)
{
	char text[BP_QUANTITY_BYTES];
	(void)state;
	struct bp_figure many = figure(3.61e6, 3.41e6, 3.82e6), few = figure(114, 106.1, 122),
			 known = figure(13246118, 13246118, 13246118);
	bp_objects_figure_text(&many, utf8, text);
	assert_string_equal(text, "3.61 ±0.21 M");
	bp_objects_figure_text(&few, utf8, text);
	assert_string_equal(text, "114 ±8");
	bp_objects_figure_text(&known, utf8, text);
	assert_string_equal(text, "13,246,118");
	struct bp_figure limits = { .interval = { NAN, 3700, 3900, false, true } };
	bp_objects_figure_text(&limits, utf8, text);
	assert_string_equal(text, "[3.70, 3.90] k");
	struct bp_figure nothing = { .interval = { NAN, 0, INFINITY, false, true } };
	bp_objects_figure_text(&nothing, utf8, text);
	assert_string_equal(text, "not known");
}

static void limits_alone(void **state)
{
	static const struct {
		struct bp_interval interval;
		struct bp_quantity_style style;
		const char *text;
	} cases[] = { { { .low = -0x23p20, .high = -0x6p20 }, { .utf8 = true }, "[-35, -6] MiB" },
		{ { .low = -2.7 * 0x1p20, .high = 5.6 * 0x1p20 }, { 0 }, "[-2.7, +5.6] MiB" },
		{ { .low = 0, .high = 3e6 }, { .si = true }, "[0, +3.0] MB" },
		{ { .low = -(double)INFINITY, .high = 3e6 }, { .si = true }, "not known" } };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char buffer[BP_QUANTITY_BYTES];
		bp_bytes_limits_text(&cases[i].interval, cases[i].style, buffer);
		assert_string_equal(buffer, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_bytes),
		cmocka_unit_test(known_counts),
		cmocka_unit_test(percents),
		cmocka_unit_test(times),
		cmocka_unit_test(estimates_of_bytes),
		cmocka_unit_test(bounds_say_so),
		cmocka_unit_test(four_digits_are_enough),
		cmocka_unit_test(sampling_in_words),
		cmocka_unit_test(limits_alone),
		cmocka_unit_test(estimates_of_objects),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
