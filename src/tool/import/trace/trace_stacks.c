/* SPDX-License-Identifier: MIT */
/*
 * Stacks and modules of a trace: from program counters to locations. Records come in any order (a
 * module may stand behind the stacks that need it), so both are collected first and resolved once.
 *
 * A pc means nothing without its epoch, the number of unloadings before the stack was taken
 * (docs/trace-format.md 3.4): the same address may belong to one plug-in today and another
 * tomorrow. Resolving walks through the epochs once, in order, with the modules that are mapped at
 * the moment in an array sorted by address:
 *
 *	for each stack, by epoch:
 *		take out the modules gone by then, put in those mapped by then
 *		for each pc: find the last module that starts at or before it;
 *			covered by that, or in no module
 *
 * [The modules in the array do not overlap]: a new one takes out what it covers, which happens when
 * an unloading was not seen. A module that was mapped and gone within one epoch is never put in.
 * Hostile files may have a million modules, so the array has a limit; programs have some hundreds.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "import/trace/trace.h"
#include "import/trace/trace_mixed.h"

#define MAPPED_MAX 65536u
#define BUILD_ID_MAX_BYTES 64u
#define CACHE_ENTRIES 4096u /* power of two */

struct bp_trace_stack_entry {
	uint64_t id; /* 64 bits wide for base/index.h */
	uint32_t first_frame, depth, epoch;
	uint8_t flags;
	bool named; /* its pcs are ids of frames */
	uint32_t
		native; /* id of the native stack that its frames are in; 0: it is no mixed stack */
	struct bp_stack_id resolved;
};

struct bp_trace_module_entry {
	uint64_t id;
	uint64_t start, end, bias;
	uint64_t gone_epoch; /* UINT64_MAX: stays */
	uint32_t epoch;
	struct bp_module_id module;
};

struct bp_trace_gone {
	uint32_t id, epoch;
};

/* The walk through the epochs. */
struct walk {
	struct bp_trace_stacks *stacks;
	struct bp_trace_names *names;
	struct bp_profile *profile;
	uint32_t *by_epoch; /* modules in the order in which they were mapped */
	uint32_t *by_gone;  /* modules in the order in which they went */
	uint32_t next_mapped, next_gone;
	uint32_t *mapped; /* modules mapped now, by address */
	uint32_t mapped_count;
	uint32_t generation; /* of `mapped`; makes cache entries stale */
	struct bp_location_id *locations;
	uint32_t location_capacity;
	struct cached {
		uint64_t pc;
		uint32_t generation; /* 0: empty */
		bool exact;
		struct bp_location_id location;
	} cache[CACHE_ENTRIES];
};

static struct bp_index_keys stack_keys(const struct bp_trace_stacks *stacks)
{
	return (struct bp_index_keys){ stacks->stacks, sizeof *stacks->stacks };
}

static struct bp_index_keys module_keys(const struct bp_trace_stacks *stacks)
{
	return (struct bp_index_keys){ stacks->modules, sizeof *stacks->modules };
}

bool bp_trace_stacks_add_stack(struct bp_trace_stacks *stacks, const struct bp_trace_stack *stack)
{
	uint64_t frames = (uint64_t)stacks->frame_count + stack->depth;
	if (bp_index_find(&stacks->stack_index, stack_keys(stacks), stack->id) != BP_INDEX_NONE)
		return true;
	if (!bp_vec_reserve(&stacks->stacks, &stacks->stack_capacity, stacks->stack_count + 1u,
		    sizeof *stacks->stacks) ||
		!bp_vec_reserve(&stacks->pcs, &stacks->pc_capacity, frames, sizeof *stacks->pcs) ||
		!bp_vec_reserve(
			&stacks->exact, &stacks->exact_capacity, frames, sizeof *stacks->exact))
		return false;
	for (uint32_t i = 0; i < stack->depth; i++) {
		stacks->pcs[stacks->frame_count + i] = stack->frames[i].pc;
		stacks->exact[stacks->frame_count + i] = stack->frames[i].exact;
	}
	stacks->stacks[stacks->stack_count] = (struct bp_trace_stack_entry){
		.id = stack->id,
		.first_frame = stacks->frame_count,
		.depth = stack->depth,
		.epoch = stack->epoch,
		.flags = (uint8_t)(stack->flags & (BP_STACK_CUT | BP_STACK_ENDED)),
		.named = stack->named,
		.native = stack->native,
	};
	if (!bp_index_add(&stacks->stack_index, stack_keys(stacks), stacks->stack_count))
		return false;
	stacks->stack_count++;
	stacks->frame_count += stack->depth;
	return true;
}

static bool add_build_id(struct bp_profile *profile, struct bp_trace_text build_id,
	struct bp_string_id *ret_string, struct bp_error *error)
{
	static const char digits[] = "0123456789abcdef";
	char hex[2 * BUILD_ID_MAX_BYTES];
	uint32_t bytes = build_id.bytes < BUILD_ID_MAX_BYTES ? build_id.bytes : BUILD_ID_MAX_BYTES;
	for (uint32_t i = 0; i < bytes; i++) {
		uint8_t byte = (uint8_t)build_id.data[i];
		hex[2 * i] = digits[byte >> 4];
		hex[2 * i + 1] = digits[byte & 15];
	}
	return bp_profile_string(profile, hex, 2 * bytes, ret_string, error);
}

bool bp_trace_stacks_add_module(struct bp_trace_stacks *stacks,
	const struct bp_trace_module *module, struct bp_process_id process,
	struct bp_profile *profile, struct bp_error *error)
{
	struct bp_trace_module_entry *entry;
	struct bp_module added = {
		.process = process,
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.file_bytes = module->file_bytes,
		.file_mtime_ns = module->file_mtime_ns,
	};
	if (bp_index_find(&stacks->module_index, module_keys(stacks), module->id) != BP_INDEX_NONE)
		return true;
	if (!bp_vec_reserve(&stacks->modules, &stacks->module_capacity, stacks->module_count + 1u,
		    sizeof *stacks->modules))
		return bp_error_set(error, "out of memory");
	entry = &stacks->modules[stacks->module_count];
	*entry = (struct bp_trace_module_entry){
		.id = module->id,
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.gone_epoch = UINT64_MAX,
		.epoch = module->epoch,
	};
	if (!bp_profile_string(
		    profile, module->path.data, module->path.bytes, &added.path, error) ||
		!add_build_id(profile, module->build_id, &added.build_id, error) ||
		!bp_profile_add_module(profile, &added, &entry->module, error))
		return false;
	if (!bp_index_add(&stacks->module_index, module_keys(stacks), stacks->module_count))
		return bp_error_set(error, "out of memory");
	stacks->module_count++;
	return true;
}

bool bp_trace_stacks_add_gone(struct bp_trace_stacks *stacks, const struct bp_trace_module *gone)
{
	if (!bp_vec_reserve(&stacks->gone, &stacks->gone_capacity, stacks->gone_count + 1u,
		    sizeof *stacks->gone))
		return false;
	stacks->gone[stacks->gone_count++] =
		(struct bp_trace_gone){ .id = gone->id, .epoch = gone->epoch };
	return true;
}

static void apply_gone(struct bp_trace_stacks *stacks)
{
	for (uint32_t i = 0; i < stacks->gone_count; i++) {
		uint32_t found = bp_index_find(
			&stacks->module_index, module_keys(stacks), stacks->gone[i].id);
		if (found != BP_INDEX_NONE &&
			stacks->gone[i].epoch < stacks->modules[found].gone_epoch)
			stacks->modules[found].gone_epoch = stacks->gone[i].epoch;
	}
}

/* Comparisons for qsort_r; `context` is the struct bp_trace_stacks. Ties: by id, so that the result
 * does not depend on the order of lanes in the file. */
static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_mapped(const void *left, const void *right, void *context)
{
	const struct bp_trace_stacks *stacks = context;
	const struct bp_trace_module_entry *a = &stacks->modules[*(const uint32_t *)left];
	const struct bp_trace_module_entry *b = &stacks->modules[*(const uint32_t *)right];
	int order = compare_numbers(a->epoch, b->epoch);
	return order != 0 ? order : compare_numbers(a->id, b->id);
}

static int compare_gone(const void *left, const void *right, void *context)
{
	const struct bp_trace_stacks *stacks = context;
	const struct bp_trace_module_entry *a = &stacks->modules[*(const uint32_t *)left];
	const struct bp_trace_module_entry *b = &stacks->modules[*(const uint32_t *)right];
	int order = compare_numbers(a->gone_epoch, b->gone_epoch);
	return order != 0 ? order : compare_numbers(a->id, b->id);
}

static int compare_stacks(const void *left, const void *right, void *context)
{
	const struct bp_trace_stacks *stacks = context;
	const struct bp_trace_stack_entry *a = &stacks->stacks[*(const uint32_t *)left];
	const struct bp_trace_stack_entry *b = &stacks->stacks[*(const uint32_t *)right];
	int order = compare_numbers(a->epoch, b->epoch);
	return order != 0 ? order : compare_numbers(a->id, b->id);
}

/* 0, 1, ... count - 1 in the order of `compare`; NULL: no memory. */
static uint32_t *sorted(struct bp_trace_stacks *stacks, uint32_t count,
	int (*compare)(const void *, const void *, void *))
{
	uint32_t *order = malloc(((size_t)count + 1) * sizeof *order);
	bool in_order = true;
	if (order == NULL)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		order[i] = i;
		in_order = in_order && (i == 0 || compare(&order[i - 1], &order[i], stacks) <= 0);
	}
	if (!in_order)
		qsort_r(order, count, sizeof *order, compare, stacks);
	return order;
}

/* How many of the mapped modules start at or before `address`. */
static uint32_t mapped_before(const struct walk *walk, uint64_t address)
{
	uint32_t low = 0, high = walk->mapped_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (walk->stacks->modules[walk->mapped[middle]].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Takes `count` modules from position `at` on out of the array and puts `module` in, if there. */
static void replace_mapped(struct walk *walk, uint32_t at, uint32_t count, const uint32_t *module)
{
	uint32_t put = module != NULL ? 1 : 0;
	memmove(walk->mapped + at + put, walk->mapped + at + count,
		(walk->mapped_count - at - count) * sizeof *walk->mapped);
	if (put)
		walk->mapped[at] = *module;
	walk->mapped_count = walk->mapped_count - count + put;
	walk->generation++;
}

static void map_module(struct walk *walk, uint32_t number)
{
	const struct bp_trace_module_entry *modules = walk->stacks->modules;
	const struct bp_trace_module_entry *module = &modules[number];
	uint32_t at, covered = 0;
	if (module->start >= module->end || module->gone_epoch <= module->epoch)
		return;
	at = mapped_before(walk, module->start);
	if (at > 0 && modules[walk->mapped[at - 1]].end > module->start) {
		at--;
		covered++;
	}
	while (at + covered < walk->mapped_count &&
		modules[walk->mapped[at + covered]].start < module->end)
		covered++;
	if (covered > 0 || walk->mapped_count < MAPPED_MAX)
		replace_mapped(walk, at, covered, &number);
}

static void unmap_module(struct walk *walk, uint32_t number)
{
	uint32_t at = mapped_before(walk, walk->stacks->modules[number].start);
	if (at > 0 && walk->mapped[at - 1] == number)
		replace_mapped(walk, at - 1, 1, NULL);
}

/* Brings the mapped modules to the state of `epoch`: within one epoch the unloading, which began
 * it, comes before what was mapped since. */
static void advance(struct walk *walk, uint32_t epoch)
{
	const struct bp_trace_stacks *stacks = walk->stacks;
	for (;;) {
		uint64_t mapped_epoch = UINT64_MAX, gone_epoch = UINT64_MAX;
		uint32_t mapped = 0, gone = 0;
		if (walk->next_mapped < stacks->module_count) {
			mapped = walk->by_epoch[walk->next_mapped];
			mapped_epoch = stacks->modules[mapped].epoch;
		}
		if (walk->next_gone < stacks->module_count) {
			gone = walk->by_gone[walk->next_gone];
			gone_epoch = stacks->modules[gone].gone_epoch;
		}
		if (mapped_epoch > epoch && gone_epoch > epoch)
			return;
		if (gone_epoch <= mapped_epoch) {
			unmap_module(walk, gone);
			walk->next_gone++;
		} else {
			map_module(walk, mapped);
			walk->next_mapped++;
		}
	}
}

static bool resolve_pc(struct walk *walk, uint64_t pc, bool exact,
	struct bp_location_id *ret_location, struct bp_error *error)
{
	struct cached *cached = &walk->cache[bp_hash_u64(pc << 1 | exact) & (CACHE_ENTRIES - 1)];
	struct bp_module_id module = { 0 };
	uint64_t address = pc;
	if (cached->generation != walk->generation || cached->pc != pc || cached->exact != exact) {
		uint64_t inside = exact || pc == 0 ? pc : pc - 1;
		uint32_t at = mapped_before(walk, inside);
		const struct bp_trace_module_entry *found =
			at == 0 ? NULL : &walk->stacks->modules[walk->mapped[at - 1]];
		if (found != NULL && inside < found->end) {
			module = found->module;
			address = pc - found->bias;
		}
		cached->generation = 0;
		if (!bp_profile_add_location(
			    walk->profile, module, address, exact, &cached->location, error))
			return false;
		cached->pc = pc;
		cached->exact = exact;
		cached->generation = walk->generation;
	}
	*ret_location = cached->location;
	return true;
}

static bool resolve_stack(
	struct walk *walk, struct bp_trace_stack_entry *entry, struct bp_error *error)
{
	const struct bp_trace_stacks *stacks = walk->stacks;
	if (!bp_vec_reserve(&walk->locations, &walk->location_capacity, entry->depth,
		    sizeof *walk->locations))
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 0; i < entry->depth; i++) {
		const uint64_t pc = stacks->pcs[entry->first_frame + i];
		if (entry->named ? !bp_trace_names_location(walk->names, (uint32_t)pc,
					   walk->profile, &walk->locations[i], error)
				 : !resolve_pc(walk, pc, stacks->exact[entry->first_frame + i],
					   &walk->locations[i], error))
			return false;
	}
	if (entry->depth == 0)
		return true;
	return bp_profile_add_stack(walk->profile, walk->locations, entry->depth, entry->flags,
		&entry->resolved, error);
}

/* The module of the interpreter, by an address in it. */
static struct bp_module_id interpreter_module(const struct bp_trace_stacks *stacks)
{
	for (uint32_t i = 0; i < stacks->module_count; i++) {
		const struct bp_trace_module_entry *module = &stacks->modules[i];
		if (stacks->interpreter_address - module->start < module->end - module->start)
			return module->module;
	}
	return (struct bp_module_id){ 0 };
}

/* After the native ones. */
static bool resolve_mixed(
	struct walk *walk, struct bp_trace_stack_entry *entry, struct bp_error *error)
{
	const struct bp_trace_mixed mixed = {
		.frames = &walk->stacks->pcs[entry->first_frame],
		.depth = entry->depth,
		.flags = entry->flags,
		.native = bp_trace_stacks_find(walk->stacks, entry->native),
		.interpreter = interpreter_module(walk->stacks),
	};
	return bp_trace_mixed_add(&mixed, walk->names, walk->profile, &entry->resolved, error);
}

bool bp_trace_stacks_resolve(struct bp_trace_stacks *stacks, struct bp_trace_names *names,
	struct bp_profile *profile, struct bp_error *error)
{
	bool resolved = false;
	struct walk *walk = calloc(1, sizeof *walk);
	uint32_t *order = sorted(stacks, stacks->stack_count, compare_stacks);
	if (walk == NULL || order == NULL) {
		bp_error_set(error, "out of memory");
		goto done;
	}
	apply_gone(stacks);
	walk->stacks = stacks;
	walk->names = names;
	walk->profile = profile;
	walk->generation = 1;
	walk->by_epoch = sorted(stacks, stacks->module_count, compare_mapped);
	walk->by_gone = sorted(stacks, stacks->module_count, compare_gone);
	walk->mapped = malloc((MAPPED_MAX + 1) * sizeof *walk->mapped);
	if (walk->by_epoch == NULL || walk->by_gone == NULL || walk->mapped == NULL) {
		bp_error_set(error, "out of memory");
		goto done;
	}
	for (uint32_t i = 0; i < stacks->stack_count; i++) {
		struct bp_trace_stack_entry *entry = &stacks->stacks[order[i]];
		if (entry->native != 0)
			continue;
		advance(walk, entry->epoch);
		if (!resolve_stack(walk, entry, error))
			goto done;
	}
	for (uint32_t i = 0; i < stacks->stack_count; i++)
		if (stacks->stacks[i].native != 0 &&
			!resolve_mixed(walk, &stacks->stacks[i], error))
			goto done;
	resolved = true;
done:
	free(order);
	if (walk != NULL) {
		free(walk->by_epoch);
		free(walk->by_gone);
		free(walk->mapped);
		free(walk->locations);
		free(walk);
	}
	return resolved;
}

struct bp_stack_id bp_trace_stacks_find(const struct bp_trace_stacks *stacks, uint32_t id)
{
	uint32_t found = id == 0 ? BP_INDEX_NONE
				 : bp_index_find(&stacks->stack_index, stack_keys(stacks), id);
	return found == BP_INDEX_NONE ? (struct bp_stack_id){ 0 } : stacks->stacks[found].resolved;
}

void bp_trace_stacks_finish(struct bp_trace_stacks *stacks)
{
	free(stacks->stacks);
	free(stacks->modules);
	free(stacks->gone);
	free(stacks->pcs);
	free(stacks->exact);
	bp_index_finish(&stacks->stack_index);
	bp_index_finish(&stacks->module_index);
	memset(stacks, 0, sizeof *stacks);
}
