/* SPDX-License-Identifier: MIT */
/*
 * Items lie by their starts. Those that hold an address are looked for backwards from the last one
 * that starts at or before it, as long as one of those before reaches so far; and no further than
 * LOOK_BACK items, so that a table in which everything overlaps costs no more than another one.
 */
#include "jit/jit_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define LOOK_BACK 64u

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error, "out of memory while reading names of code");
}

static const char *text_of(const struct bp_jit_names *names, uint32_t item)
{
	return names->texts + names->items[item].text;
}

bool bp_jit_names_add(struct bp_jit_names *names, const struct bp_jit_name *range, const char *text,
	size_t bytes, struct bp_error *error)
{
	if (bytes >= BP_JIT_NAME_BYTES)
		bytes = BP_JIT_NAME_BYTES - 1;
	if (bytes == 0 || range->bytes == 0 || range->start + range->bytes < range->start ||
		names->count == BP_JIT_NAMES_MAX)
		return true;
	if (!bp_vec_reserve(&names->items, &names->capacity, (uint64_t)names->count + 1,
		    sizeof *names->items) ||
		!bp_vec_reserve(&names->texts, &names->text_capacity,
			(uint64_t)names->text_bytes + bytes + 1, 1))
		return no_memory(error);
	char *to = names->texts + names->text_bytes;
	for (size_t i = 0; i < bytes; i++)
		to[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	to[bytes] = '\0';
	names->items[names->count] = *range;
	names->items[names->count++].text = names->text_bytes;
	names->text_bytes += (uint32_t)bytes + 1;
	return true;
}

/* Of two with one start the later one stands behind the other; texts lie in the order in which they
 * were added. */
static int compare_items(const void *a, const void *b)
{
	const struct bp_jit_name *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->text < right->text ? -1 : left->text > right->text;
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return left < right ? -1 : left > right;
}

/* Marks an item, and those before it that hold some of its addresses under other names. */
static void mark_changed(const struct bp_jit_names *names, uint32_t item, uint8_t *marks)
{
	const uint64_t start = names->items[item].start;
	for (uint32_t i = item, looked = 0; i > 0 && looked < LOOK_BACK; i--, looked++) {
		if (names->ends[i - 1] <= start)
			return;
		const struct bp_jit_name *before = &names->items[i - 1];
		if (before->start + before->bytes > start &&
			strcmp(text_of(names, i - 1), text_of(names, item)) != 0)
			marks[i - 1] = marks[item] = 1;
	}
}

static bool find_changes(struct bp_jit_names *names)
{
	uint8_t *marks = calloc((size_t)names->count + 1, 1);
	names->changes = malloc(((size_t)names->count + 1) * sizeof *names->changes);
	if (marks == NULL || names->changes == NULL) {
		free(marks);
		return false;
	}
	uint32_t count = 0, kept = 0;
	for (uint32_t i = 1; i < names->count; i++)
		mark_changed(names, i, marks);
	for (uint32_t i = 0; i < names->count; i++)
		if (marks[i] != 0 && names->items[i].time_ns != 0)
			names->changes[count++] = names->items[i].time_ns;
	free(marks);
	if (count > 0)
		qsort(names->changes, count, sizeof *names->changes, compare_times);
	for (uint32_t i = 0; i < count; i++)
		if (kept == 0 || names->changes[kept - 1] != names->changes[i])
			names->changes[kept++] = names->changes[i];
	names->change_count = kept;
	return true;
}

bool bp_jit_names_finish(struct bp_jit_names *names, struct bp_error *error)
{
	if (names->count > 0)
		qsort(names->items, names->count, sizeof *names->items, compare_items);
	names->ends = malloc(((size_t)names->count + 1) * sizeof *names->ends);
	if (names->ends == NULL)
		return no_memory(error);
	uint64_t most = 0;
	for (uint32_t i = 0; i < names->count; i++) {
		const uint64_t end = names->items[i].start + names->items[i].bytes;
		most = end > most ? end : most;
		names->ends[i] = most;
	}
	return find_changes(names) || no_memory(error);
}

/* The number of items that start at or before an address. */
static uint32_t count_to(const struct bp_jit_names *names, uint64_t address)
{
	uint32_t low = 0, high = names->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (names->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What was found of an address so far. */
struct finding {
	const char *text, *other; /* other: of an item of unknown time, too */
	uint64_t time_ns;
	uint32_t others;
};

static void take(struct finding *finding, const struct bp_jit_name *item, const char *text)
{
	const bool first = finding->text == NULL;
	if (item->time_ns != 0 && (first || item->time_ns >= finding->time_ns)) {
		*finding = (struct finding){ .text = text, .time_ns = item->time_ns };
	} else if (first) {
		finding->text = text;
	} else if (item->time_ns == 0 && finding->time_ns == 0 &&
		   strcmp(finding->text, text) != 0 &&
		   (finding->other == NULL || strcmp(finding->other, text) != 0)) {
		finding->other = text;
		finding->others++;
	}
}

bool bp_jit_names_find(const struct bp_jit_names *names, uint64_t address, uint64_t time_ns,
	char ret_text[BP_JIT_FOUND_BYTES])
{
	struct finding finding = { .text = NULL };
	uint32_t item = count_to(names, address);
	for (uint32_t looked = 0; item > 0 && looked < LOOK_BACK; item--, looked++) {
		const struct bp_jit_name *found = &names->items[item - 1];
		if (names->ends[item - 1] <= address)
			break;
		if (address - found->start < found->bytes && found->time_ns <= time_ns)
			take(&finding, found, text_of(names, item - 1));
	}
	if (finding.text == NULL)
		return false;
	if (finding.others == 0)
		snprintf(ret_text, BP_JIT_FOUND_BYTES, "%s", finding.text);
	else if (finding.others == 1)
		snprintf(ret_text, BP_JIT_FOUND_BYTES, "%s or %s", finding.text, finding.other);
	else
		snprintf(ret_text, BP_JIT_FOUND_BYTES, "%s or %u others", finding.text,
			finding.others);
	return true;
}

uint32_t bp_jit_names_epoch(const struct bp_jit_names *names, uint64_t time_ns)
{
	uint32_t low = 0, high = names->change_count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (names->changes[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t bp_jit_names_epoch_end(const struct bp_jit_names *names, uint32_t epoch)
{
	return epoch < names->change_count ? names->changes[epoch] - 1 : UINT64_MAX;
}

void bp_jit_names_free(struct bp_jit_names *names)
{
	free(names->items);
	free(names->texts);
	free(names->ends);
	free(names->changes);
	*names = (struct bp_jit_names){ .items = NULL };
}
