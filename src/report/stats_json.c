/* SPDX-License-Identifier: MIT */
/*
 *	"stats": {
 *	  "sizes": [{"low", "high", "allocated": AMOUNT, "live": AMOUNT}],      sizes with a sample
 *	  "unseen": FIGURE,                      bytes that a range without a sample may hold
 *	  "lifetimes": null where the file does not tell, or {"resolution_s",
 *	    "freed": AMOUNT, "still_live": AMOUNT,
 *	    "ranges": [{"low_s", "high_s", "freed": AMOUNT, "still_live": AMOUNT}]},
 *	  "rates": [{"from_s", "to_s", "allocated": AMOUNT, "bytes_per_s": FIGURE, "objects_per_s": FIGURE}]}
 *
 * AMOUNT is {"samples", "bytes": FIGURE, "objects": FIGURE}. The largest sizes are the rows, which are by
 * size. `high_s` of the last range is null.
 */
#include "report/stats.h"

#include <math.h>

#include "profile/distribution.h"
#include "report/json_values.h"

#define TIMES 100

static void write_amount(FILE *out, const char *name, const struct bp_amount *amount)
{
	fprintf(out, "\"%s\": {\"samples\": %llu, \"bytes\": ", name,
		(unsigned long long)amount->samples);
	bp_write_json_figure(out, &amount->bytes, 1);
	fputs(", \"objects\": ", out);
	bp_write_json_figure(out, &amount->objects, 1);
	putc('}', out);
}

static void write_sizes(FILE *out, const struct bp_distribution *distribution)
{
	bool first = true;
	fputs("    \"sizes\": [", out);
	for (unsigned i = 0; i < BP_SIZE_RANGES; i++) {
		const struct bp_size_range *range = &distribution->sizes[i];
		if (range->allocated.samples == 0)
			continue;
		fprintf(out, "%s\n      {\"low\": %llu, \"high\": %llu, ", first ? "" : ",",
			(unsigned long long)range->low, (unsigned long long)range->high);
		write_amount(out, "allocated", &range->allocated);
		fputs(", ", out);
		write_amount(out, "live", &range->live);
		putc('}', out);
		first = false;
	}
	fputs("\n    ],\n    \"unseen\": ", out);
	bp_write_json_figure(out, &distribution->unseen, 1);
	fputs(",\n", out);
}

static void write_ages(FILE *out, const struct bp_distribution *distribution)
{
	if (!distribution->ages_known) {
		fputs("    \"lifetimes\": null,\n", out);
		return;
	}
	fprintf(out, "    \"lifetimes\": {\"resolution_s\": %.9f, ",
		(double)distribution->age_resolution_ns / 1e9);
	write_amount(out, "freed", &distribution->freed);
	fputs(", ", out);
	write_amount(out, "still_live", &distribution->censored);
	fputs(",\n      \"ranges\": [", out);
	for (unsigned i = 0; i < BP_AGE_RANGES; i++) {
		const struct bp_age_range *range = &distribution->ages[i];
		fprintf(out, "%s\n        {\"low_s\": ", i > 0 ? "," : "");
		bp_write_json_number(out, (double)range->low_ns / 1e9);
		fputs(", \"high_s\": ", out);
		bp_write_json_number(
			out, range->high_ns == BP_TIME_NEVER ? NAN : (double)range->high_ns / 1e9);
		fputs(", ", out);
		write_amount(out, "freed", &range->freed);
		fputs(", ", out);
		write_amount(out, "still_live", &range->censored);
		putc('}', out);
	}
	fputs("\n      ]},\n", out);
}

static void write_times(FILE *out, const struct bp_distribution *distribution)
{
	fputs("    \"rates\": [", out);
	for (uint32_t i = 0; distribution->times_known && i < distribution->time_count; i++) {
		const struct bp_time_range *range = &distribution->times[i];
		const double seconds = (double)(range->high_ns - range->low_ns) / 1e9;
		fprintf(out, "%s\n      {\"from_s\": %.9f, \"to_s\": %.9f, ", i > 0 ? "," : "",
			(double)range->low_ns / 1e9, (double)range->high_ns / 1e9);
		write_amount(out, "allocated", &range->allocated);
		if (seconds > 0) {
			fputs(", \"bytes_per_s\": ", out);
			bp_write_json_figure(out, &range->allocated.bytes, seconds);
			fputs(", \"objects_per_s\": ", out);
			bp_write_json_figure(out, &range->allocated.objects, seconds);
		}
		putc('}', out);
	}
	fputs("\n    ]},\n", out);
}

bool bp_write_json_stats(
	FILE *out, const struct bp_aggregation *aggregation, struct bp_error *error)
{
	struct bp_distribution distribution;
	if (!bp_distribution_make(aggregation, TIMES, &distribution, error))
		return false;
	fputs("  \"stats\": {\n", out);
	write_sizes(out, &distribution);
	write_ages(out, &distribution);
	write_times(out, &distribution);
	bp_distribution_finish(&distribution);
	return true;
}
