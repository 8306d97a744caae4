/* SPDX-License-Identifier: MIT */
/*
 * The ten functions (or stacks, types, threads ...) that hold most memory, each with its interval:
 *
 *	cc top.c $(pkg-config --cflags --libs bytepoll) -o top
 *	./top app.bpt                   live at the end, by function
 *	./top app.bpt peak type         at the peak, by type
 *	./top app.bpt allocated stack   all that was allocated, by stack
 */
#include <bytepoll/analysis.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 10
#define FRAMES 6 /* of a stack */

/* Names come from files that somebody else may have written: nothing of them reaches the terminal's
 * ears. */
static void print_text(const char *text)
{
	for (; *text != '\0'; text++)
		putchar((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
}

static void print_bytes(double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	int unit = 0;
	for (; bytes >= 1024 && unit < 4; unit++)
		bytes /= 1024;
	printf("%6.1f %-3s", bytes, units[unit]);
}

static void print_figure(const struct bytepoll_figure *figure)
{
	if ((figure->flags & BYTEPOLL_UNKNOWN) != 0)
		printf("         ?");
	else
		print_bytes(figure->estimate);
	if ((figure->flags & BYTEPOLL_EXACT) != 0) {
		printf("   exactly                ");
		return;
	}
	printf("  [");
	print_bytes(figure->low);
	printf(", ");
	print_bytes(figure->high);
	printf("]");
}

static void print_stack(const struct bytepoll_profile *profile, const struct bytepoll_row *row)
{
	struct bytepoll_frame frame;
	BYTEPOLL_CLEAR(frame);
	for (uint32_t i = 0; i < row->frame_count && i < FRAMES; i++) {
		bytepoll_profile_frame(profile, row->frames[i], &frame);
		printf("%s", i > 0 ? " < " : "");
		print_text(frame.function);
	}
	if (row->frame_count > FRAMES)
		printf(" < ...");
}

static void print_table(const struct bytepoll_profile *profile, const struct bytepoll_table *table,
	const char *metric)
{
	struct bytepoll_row row;
	struct bytepoll_total total;
	const char *warning;
	BYTEPOLL_CLEAR(row);
	BYTEPOLL_CLEAR(total);
	for (uint32_t i = 0; i < ROWS && bytepoll_table_row(table, i, &row); i++) {
		print_figure(&row.bytes);
		printf("  ");
		if (row.name != NULL)
			print_text(row.name);
		else
			print_stack(profile, &row);
		putchar('\n');
	}
	if (bytepoll_table_rest(table, ROWS, &row)) {
		print_figure(&row.bytes);
		printf("  everything else\n");
	}
	if (bytepoll_table_total(table, metric, &total)) {
		print_figure(&total.bytes);
		printf("  in total\n");
	}
	for (uint32_t i = 0; (warning = bytepoll_table_warning(table, i)) != NULL; i++) {
		printf("note: ");
		print_text(warning);
		putchar('\n');
	}
}

int main(int count, char **words)
{
	struct bytepoll_error error;
	struct bytepoll_query query;
	if (count < 2 || count > 4) {
		fprintf(stderr, "usage: top FILE [METRIC [KEY]]\n");
		return 2;
	}
	const char *file = words[1];
	struct bytepoll_profile *profile = bytepoll_open(&file, 1, NULL, &error);
	if (profile == NULL) {
		fprintf(stderr, "top: %s\n", error.text);
		return 1;
	}
	BYTEPOLL_CLEAR(query);
	query.metric = count > 2 ? words[2] : "live";
	query.by = count > 3 ? words[3] : "function";
	struct bytepoll_table *table = bytepoll_aggregate(profile, &query, &error);
	if (table == NULL)
		fprintf(stderr, "top: %s\n", error.text);
	else
		print_table(profile, table, query.metric);
	const int status = table == NULL;
	bytepoll_table_close(table);
	bytepoll_close(profile);
	return status;
}
