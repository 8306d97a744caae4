/* SPDX-License-Identifier: MIT */
/* Prints every column of every table, with its type, as docs/parquet-format.md names it. */
#include <stdio.h>

#include "fleet/tables.h"

int main(void)
{
	static const char *const types[] = { [BP_PARQUET_NUMBER] = "number",
		[BP_PARQUET_FLAG] = "flag",
		[BP_PARQUET_TEXT] = "text" };
	for (unsigned i = 0; i < BP_TABLE_COUNT; i++) {
		const struct bp_table *table = bp_table_of((enum bp_table_number)i);
		for (uint32_t j = 0; j < table->column_count; j++)
			printf("%s %s %s%s\n", table->name, table->columns[j].name,
				types[table->columns[j].type],
				table->columns[j].optional ? "?" : "");
	}
	return 0;
}
