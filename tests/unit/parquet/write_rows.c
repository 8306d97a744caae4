/* SPDX-License-Identifier: MIT */
/* Writes COUNT rows that a test knows into FILE: write_rows FILE COUNT. For
 * tests/scenario/test_parquet.py, which reads them back. */
#include <stdio.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "parquet/parquet_file.h"

static const struct bp_parquet_column columns[] = { { "spread", BP_PARQUET_NUMBER, false },
	{ "gaps", BP_PARQUET_NUMBER, true }, { "flag", BP_PARQUET_FLAG, false },
	{ "text", BP_PARQUET_TEXT, true }, { "same", BP_PARQUET_NUMBER, false } };

int main(int argc, char **argv)
{
	struct bp_error error;
	struct bp_parquet *file;
	FILE *out = argc == 3 ? fopen(argv[1], "w") : NULL;
	char text[64];
	if (out == NULL || !bp_parquet_begin(out, columns, BP_COUNT(columns), "1", &file, &error))
		return 1;
	bool good = true;
	for (long i = 0; good && i < atol(argv[2]); i++) {
		snprintf(text, sizeof text, "text %ld", i * i % 997);
		const struct bp_parquet_value values[] = { { .number = i * 7919 % 100003 - 50000 },
			{ .null = i % 3 == 0, .number = i }, { .number = i % 5 == 0 },
			{ .null = i % 2 == 1, .text = text }, { .number = 42 } };
		good = bp_parquet_row(file, values, &error);
	}
	good = bp_parquet_end(file, good, &error);
	return fclose(out) == 0 && good ? 0 : 1;
}
