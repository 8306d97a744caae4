/* SPDX-License-Identifier: MIT */
/* See dotnet_methods.h. */
#include "import/dotnet/dotnet_methods.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vec.h"

/* Entries looked at for one address: a file may claim what it likes, and one search must not take
 * for ever. Real code of one place was reloaded some dozen times at most. */
#define LOOKS_MAX 4096u

bool bp_dotnet_methods_add(struct bp_dotnet_methods *methods, const struct bp_dotnet_code *code)
{
	if (!bp_vec_reserve(&methods->codes, &methods->capacity, (uint64_t)methods->count + 1,
		    sizeof *methods->codes))
		return false;
	methods->codes[methods->count] = *code;
	methods->codes[methods->count].order = methods->count;
	methods->count++;
	return true;
}

/* An unload is kept as a code of its own until the sorting: loaded == unloaded. */
bool bp_dotnet_methods_unload(struct bp_dotnet_methods *methods, const struct bp_dotnet_code *code)
{
	struct bp_dotnet_code end = *code;
	end.loaded = end.unloaded;
	return bp_dotnet_methods_add(methods, &end);
}

static bool is_unload(const struct bp_dotnet_code *code)
{
	return code->loaded == code->unloaded;
}

/* Same code together: loads, then what the rundown knows, then unloads, by time. */
static int compare(const void *a_code, const void *b_code)
{
	const struct bp_dotnet_code *a = a_code, *b = b_code;
	const uint64_t a_time = is_unload(a) ? a->unloaded : a->loaded;
	const uint64_t b_time = is_unload(b) ? b->unloaded : b->loaded;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->method != b->method)
		return a->method < b->method ? -1 : 1;
	if (a_time != b_time)
		return a_time < b_time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool same_code(const struct bp_dotnet_code *a, const struct bp_dotnet_code *b)
{
	return a->start == b->start && a->method == b->method;
}

/* Joins unloads to loads, and loads to what the rundown says of the same code (which stands first,
 * its time being 0). */
static void join(struct bp_dotnet_methods *methods)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < methods->count; i++) {
		const struct bp_dotnet_code *code = &methods->codes[i];
		struct bp_dotnet_code *last = kept == 0 ? NULL : &methods->codes[kept - 1];
		const bool same = last != NULL && same_code(last, code);
		if (is_unload(code) && same && last->unloaded == UINT64_MAX) {
			last->unloaded = code->unloaded;
			continue;
		}
		struct bp_dotnet_code entry = *code;
		if (is_unload(code))
			entry.loaded = 0; /* its load was before the session */
		if (same && last->loaded == 0 && last->unloaded == UINT64_MAX &&
			entry.unloaded == UINT64_MAX) {
			last->loaded = entry.loaded;
			continue;
		}
		methods->codes[kept++] = entry;
	}
	methods->count = kept;
}

bool bp_dotnet_methods_sort(struct bp_dotnet_methods *methods)
{
	uint64_t end = 0;
	if (methods->count != 0)
		qsort(methods->codes, methods->count, sizeof *methods->codes, compare);
	join(methods);
	if (!bp_vec_reserve(
		    &methods->ends, &methods->ends_capacity, methods->count, sizeof *methods->ends))
		return false;
	for (uint32_t i = 0; i < methods->count; i++) {
		if (methods->codes[i].end > end)
			end = methods->codes[i].end;
		methods->ends[i] = end;
	}
	return true;
}

/* How many entries start at or before `address`. */
static uint32_t upto(const struct bp_dotnet_methods *methods, uint64_t address)
{
	return bp_sorted_upto(methods->codes, sizeof *methods->codes, methods->count, address);
}

static bool existed(const struct bp_dotnet_code *code, uint64_t time)
{
	return code->loaded <= time && time < code->unloaded;
}

/* Is `a` the better answer? What existed then; of these the latest loaded; else the first that
 * came. */
static bool better(const struct bp_dotnet_code *a, const struct bp_dotnet_code *b, uint64_t time)
{
	const bool a_existed = existed(a, time), b_existed = existed(b, time);
	if (a_existed != b_existed)
		return a_existed;
	return a_existed ? a->loaded > b->loaded : a->loaded < b->loaded;
}

uint32_t bp_dotnet_methods_find(
	const struct bp_dotnet_methods *methods, uint64_t address, uint64_t time, bool *ret_depends)
{
	uint32_t best = BP_DOTNET_NO_METHOD, entry_point = BP_DOTNET_NO_METHOD, found = 0;
	uint32_t i = upto(methods, address);
	for (uint32_t looks = 0; i-- > 0 && looks < LOOKS_MAX; looks++) {
		const struct bp_dotnet_code *code = &methods->codes[i];
		if (code->end == code->start && entry_point == BP_DOTNET_NO_METHOD)
			entry_point = i;
		if (methods->ends[i] <= address && entry_point != BP_DOTNET_NO_METHOD)
			break;
		if (methods->ends[i] <= address &&
			address - code->start > BP_DOTNET_ENTRY_REACH_BYTES)
			break;
		if (code->end <= address)
			continue;
		found++;
		if (best == BP_DOTNET_NO_METHOD || better(code, &methods->codes[best], time))
			best = i;
	}
	*ret_depends = found > 1;
	if (best == BP_DOTNET_NO_METHOD && entry_point != BP_DOTNET_NO_METHOD &&
		address - methods->codes[entry_point].start <= BP_DOTNET_ENTRY_REACH_BYTES)
		best = entry_point;
	return best;
}

void bp_dotnet_methods_finish(struct bp_dotnet_methods *methods)
{
	free(methods->codes);
	free(methods->ends);
	*methods = (struct bp_dotnet_methods){ 0 };
}
