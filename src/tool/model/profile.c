/* SPDX-License-Identifier: MIT */
/*
 * The tables of a profile: growing arrays with an empty entry 0, found again through hash indices,
 * and the text of strings in blocks that never move. Samples have no index: they are appended, and
 * sorted once at the end of the import. What is equal:
 *
 *	string     the same bytes (cut at the first NUL)
 *	process    the same trace id, unless it is all zeros
 *	thread     the same process and ordinal
 *	module     the same path and build-id; without a build-id the same file size and time too; a
 *	           module without a path is equal to nothing but itself (process, start)
 *	location   the same module, address and exactness
 *	stack      the same locations and flags
 *
 * finish_import is at the end: linking of process trees, then the order of samples.
 */
#include "model/profile.h"

#include <stdlib.h>
#include <string.h>

#include "model/id_index.h"
#include "model/names/process_name.h"
#include "model/sample_order.h"

#define SAMPLES_PER_TELLING 8192
#define TEXT_BLOCK_BYTES (64u << 10)
#define END_BY_EXEC 5u /* enum bp_end_reason of the trace */

struct text_block {
	struct text_block *next;
	char text[];
};

struct bp_string_index {
	struct bp_id_index strings, processes, threads, modules, locations, stacks;
	struct text_block *blocks;
	char *free_text; /* of the first block */
	size_t free_bytes;
};

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error, "out of memory while reading the profile: use a machine with "
				   "more, or a larger sampling interval");
}

/* Room for `more` entries of `entry_bytes` in a table given by its three members. */
static bool reserve(void **data, uint32_t count, uint32_t *capacity, uint32_t more,
	size_t entry_bytes, struct bp_error *error)
{
	if (count <= *capacity && more <= *capacity - count)
		return true;
	if (more >= UINT32_MAX - count)
		return bp_error_set(error, "more than 4 billion entries in one table: profile "
					   "with a larger sampling interval");
	uint64_t wanted = (uint64_t)*capacity + *capacity / 2 + 64;
	if (wanted < (uint64_t)count + more)
		wanted = (uint64_t)count + more;
	if (wanted > UINT32_MAX)
		wanted = UINT32_MAX;
	void *grown = realloc(*data, wanted * entry_bytes);
	if (grown == NULL)
		return no_memory(error);
	*data = grown;
	*capacity = (uint32_t)wanted;
	return true;
}

#define RESERVE(table, more, error)                                               \
	reserve((void **)&(table).data, (table).count, &(table).capacity, (more), \
		sizeof *(table).data, (error))

/* Appends the all-zero entry 0. */
#define APPEND_EMPTY(table, error)   \
	(RESERVE(table, 1, error) && \
		(memset((table).data, 0, sizeof *(table).data), (table).count = 1, true))

bool bp_profile_init(struct bp_profile *profile, struct bp_error *error)
{
	memset(profile, 0, sizeof *profile);
	profile->index = calloc(1, sizeof *profile->index);
	if (profile->index == NULL)
		return no_memory(error);
	struct bp_string_id empty;
	if (!APPEND_EMPTY(profile->strings, error) || !APPEND_EMPTY(profile->processes, error) ||
		!APPEND_EMPTY(profile->threads, error) || !APPEND_EMPTY(profile->modules, error) ||
		!APPEND_EMPTY(profile->locations, error) || !APPEND_EMPTY(profile->frames, error) ||
		!APPEND_EMPTY(profile->stacks, error) ||
		!APPEND_EMPTY(profile->stack_locations, error) ||
		!bp_samples_init(&profile->samples, error) ||
		!APPEND_EMPTY(profile->added, error) ||
		!APPEND_EMPTY(profile->verify_sums, error) ||
		!APPEND_EMPTY(profile->types, error) || !APPEND_EMPTY(profile->labels, error) ||
		!APPEND_EMPTY(profile->label_pairs, error) ||
		!APPEND_EMPTY(profile->pauses, error) || !APPEND_EMPTY(profile->outages, error) ||
		!APPEND_EMPTY(profile->intervals, error) ||
		!bp_profile_string(profile, "", 0, &empty, error)) {
		bp_profile_finish(profile);
		return false;
	}
	return true;
}

void bp_profile_finish(struct bp_profile *profile)
{
	struct bp_string_index *index = profile->index;
	if (index != NULL) {
		while (index->blocks != NULL) {
			struct text_block *next = index->blocks->next;
			free(index->blocks);
			index->blocks = next;
		}
		bp_id_index_finish(&index->strings);
		bp_id_index_finish(&index->processes);
		bp_id_index_finish(&index->threads);
		bp_id_index_finish(&index->modules);
		bp_id_index_finish(&index->locations);
		bp_id_index_finish(&index->stacks);
		free(index);
	}
	free(profile->strings.data);
	free(profile->processes.data);
	free(profile->threads.data);
	free(profile->modules.data);
	free(profile->locations.data);
	free(profile->frames.data);
	free(profile->stacks.data);
	free(profile->stack_locations.data);
	bp_samples_finish(&profile->samples);
	free(profile->added.data);
	free(profile->verify_sums.data);
	free(profile->types.data);
	free(profile->labels.data);
	free(profile->label_pairs.data);
	bp_id_index_finish(&profile->types_by_name);
	bp_id_index_finish(&profile->labels_by_text);
	bp_readings_finish(&profile->readings);
	free(profile->pauses.data);
	free(profile->outages.data);
	free(profile->intervals.data);
	free(profile->started.data);
	free(profile->runtime_parts.data);
	memset(profile, 0, sizeof *profile);
}

const char *bp_profile_text(const struct bp_profile *profile, struct bp_string_id string)
{
	if (string.i == 0 || string.i >= profile->strings.count)
		return "";
	return profile->strings.data[string.i];
}

/* Memory for a text that stays where it is until the profile ends. */
static char *text_memory(struct bp_string_index *index, size_t bytes)
{
	if (bytes > index->free_bytes) {
		size_t block_bytes = bytes > TEXT_BLOCK_BYTES ? bytes : TEXT_BLOCK_BYTES;
		struct text_block *block = malloc(sizeof *block + block_bytes);
		if (block == NULL)
			return NULL;
		block->next = index->blocks;
		index->blocks = block;
		index->free_text = block->text;
		index->free_bytes = block_bytes;
	}
	char *text = index->free_text;
	index->free_text += bytes;
	index->free_bytes -= bytes;
	return text;
}

bool bp_profile_is_attached(const struct bp_profile *profile, uint32_t pid)
{
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (process->attached && (pid == 0 || process->pid == pid))
			return true;
	}
	return false;
}

bool bp_profile_knows_mappings(const struct bp_profile *profile)
{
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (profile->processes.data[i].mappings_known)
			return true;
	return false;
}

bool bp_profile_has_free_stacks(const struct bp_profile *profile)
{
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (profile->processes.data[i].free_stacks)
			return true;
	return false;
}

bool bp_profile_string(struct bp_profile *profile, const char *text, size_t bytes,
	struct bp_string_id *ret_string, struct bp_error *error)
{
	bytes = strnlen(text, bytes);
	if (bytes == 0) {
		ret_string->i = 0;
		return true;
	}
	struct bp_string_index *index = profile->index;
	uint32_t hash = bp_hash_fold(bp_hash_bytes(0, text, bytes));
	uint32_t position = hash, id;
	while ((id = bp_id_index_next(&index->strings, hash, &position)) != 0) {
		const char *known = profile->strings.data[id];
		if (strncmp(known, text, bytes) == 0 && known[bytes] == '\0') {
			ret_string->i = id;
			return true;
		}
	}
	if (!RESERVE(profile->strings, 1, error))
		return false;
	char *copy = bp_id_index_reserve(&index->strings) ? text_memory(index, bytes + 1) : NULL;
	if (copy == NULL)
		return no_memory(error);
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	id = profile->strings.count++;
	profile->strings.data[id] = copy;
	bp_id_index_add(&index->strings, hash, id);
	ret_string->i = id;
	return true;
}

bool bp_profile_add_process(struct bp_profile *profile, const struct bp_process *process,
	struct bp_process_id *ret_process, struct bp_error *error)
{
	static const uint8_t no_trace_id[16];
	struct bp_id_index *index = &profile->index->processes;
	bool has_id = memcmp(process->trace_id, no_trace_id, sizeof no_trace_id) != 0;
	uint32_t hash = bp_hash_fold(bp_hash_bytes(1, process->trace_id, sizeof process->trace_id));
	uint32_t position = hash, id;
	while (has_id && (id = bp_id_index_next(index, hash, &position)) != 0)
		if (memcmp(profile->processes.data[id].trace_id, process->trace_id, 16) == 0) {
			ret_process->i = id;
			return true;
		}
	if (!RESERVE(profile->processes, 1, error))
		return false;
	if (!bp_id_index_reserve(index))
		return no_memory(error);
	id = profile->processes.count++;
	profile->processes.data[id] = *process;
	bp_id_index_add(index, hash, id);
	ret_process->i = id;
	return true;
}

bool bp_profile_add_thread(struct bp_profile *profile, const struct bp_thread *thread,
	struct bp_thread_id *ret_thread, struct bp_error *error)
{
	struct bp_id_index *index = &profile->index->threads;
	uint32_t hash =
		bp_hash_fold(bp_hash_word(2, (uint64_t)thread->process.i << 32 | thread->ordinal));
	uint32_t position = hash, id;
	while ((id = bp_id_index_next(index, hash, &position)) != 0) {
		const struct bp_thread *known = &profile->threads.data[id];
		if (known->process.i == thread->process.i && known->ordinal == thread->ordinal) {
			ret_thread->i = id;
			return true;
		}
	}
	if (!RESERVE(profile->threads, 1, error))
		return false;
	if (!bp_id_index_reserve(index))
		return no_memory(error);
	id = profile->threads.count++;
	profile->threads.data[id] = *thread;
	bp_id_index_add(index, hash, id);
	ret_thread->i = id;
	return true;
}

static bool same_module(const struct bp_module *a, const struct bp_module *b)
{
	if (a->path.i != b->path.i || a->build_id.i != b->build_id.i)
		return false;
	if (a->path.i == 0)
		return a->process.i == b->process.i && a->start == b->start && a->bias == b->bias;
	if (a->build_id.i != 0)
		return true;
	return a->file_bytes == b->file_bytes && a->file_mtime_ns == b->file_mtime_ns;
}

bool bp_profile_add_module(struct bp_profile *profile, const struct bp_module *module,
	struct bp_module_id *ret_module, struct bp_error *error)
{
	struct bp_id_index *index = &profile->index->modules;
	uint64_t key = (uint64_t)module->path.i << 32 | module->build_id.i;
	uint32_t hash = bp_hash_fold(bp_hash_word(3, key));
	uint32_t position = hash, id;
	while ((id = bp_id_index_next(index, hash, &position)) != 0)
		if (same_module(&profile->modules.data[id], module)) {
			ret_module->i = id;
			return true;
		}
	if (!RESERVE(profile->modules, 1, error))
		return false;
	if (!bp_id_index_reserve(index))
		return no_memory(error);
	id = profile->modules.count++;
	profile->modules.data[id] = *module;
	bp_id_index_add(index, hash, id);
	ret_module->i = id;
	return true;
}

bool bp_profile_add_location(struct bp_profile *profile, struct bp_module_id module,
	uint64_t address, bool exact, struct bp_location_id *ret_location, struct bp_error *error)
{
	struct bp_id_index *index = &profile->index->locations;
	uint64_t key = (uint64_t)module.i << 1 | exact;
	uint32_t hash = bp_hash_fold(bp_hash_word(bp_hash_word(4, address), key));
	uint32_t position = hash, id;
	while ((id = bp_id_index_next(index, hash, &position)) != 0) {
		const struct bp_location *known = &profile->locations.data[id];
		if (known->address == address && known->module.i == module.i &&
			known->exact == exact) {
			ret_location->i = id;
			return true;
		}
	}
	if (!RESERVE(profile->locations, 1, error))
		return false;
	if (!bp_id_index_reserve(index))
		return no_memory(error);
	id = profile->locations.count++;
	profile->locations.data[id] =
		(struct bp_location){ .module = module, .address = address, .exact = exact };
	bp_id_index_add(index, hash, id);
	ret_location->i = id;
	return true;
}

bool bp_profile_add_stack(struct bp_profile *profile, const struct bp_location_id *locations,
	uint32_t depth, uint8_t flags, struct bp_stack_id *ret_stack, struct bp_error *error)
{
	struct bp_id_index *index = &profile->index->stacks;
	size_t bytes = (size_t)depth * sizeof *locations;
	uint32_t hash = bp_hash_fold(bp_hash_bytes(5 + flags, locations, bytes));
	uint32_t position = hash, id;
	while ((id = bp_id_index_next(index, hash, &position)) != 0) {
		const struct bp_stack *known = &profile->stacks.data[id];
		if (known->depth == depth && known->flags == flags &&
			(depth == 0 || memcmp(&profile->stack_locations.data[known->first_location],
					       locations, bytes) == 0)) {
			ret_stack->i = id;
			return true;
		}
	}
	if (!RESERVE(profile->stacks, 1, error) || !RESERVE(profile->stack_locations, depth, error))
		return false;
	if (!bp_id_index_reserve(index))
		return no_memory(error);
	id = profile->stacks.count++;
	profile->stacks.data[id] =
		(struct bp_stack){ profile->stack_locations.count, depth, flags };
	if (depth > 0)
		memcpy(&profile->stack_locations.data[profile->stack_locations.count], locations,
			bytes);
	profile->stack_locations.count += depth;
	bp_id_index_add(index, hash, id);
	ret_stack->i = id;
	return true;
}

void bp_profile_tell_progress(const struct bp_profile *profile)
{
	/* Both tables have an empty entry. */
	const uint64_t samples = (uint64_t)profile->samples.count + profile->added.count - 1;
	if (profile->progress != NULL && samples % SAMPLES_PER_TELLING == 0)
		profile->progress(profile->progress_context, samples);
}

bool bp_profile_add_sample(
	struct bp_profile *profile, const struct bp_sample *sample, struct bp_error *error)
{
	if (!RESERVE(profile->added, 1, error))
		return false;
	profile->added.data[profile->added.count++] = *sample;
	bp_profile_tell_progress(profile);
	return true;
}

bool bp_profile_add_type(struct bp_profile *profile, const struct bp_type *type,
	struct bp_type_id *ret_type, struct bp_error *error)
{
	if (!RESERVE(profile->types, 1, error))
		return false;
	ret_type->i = profile->types.count;
	profile->types.data[profile->types.count++] = *type;
	return true;
}

bool bp_profile_add_verify_sums(
	struct bp_profile *profile, const struct bp_verify_sums *sums, struct bp_error *error)
{
	if (!RESERVE(profile->verify_sums, 1, error))
		return false;
	profile->verify_sums.data[profile->verify_sums.count++] = *sums;
	return true;
}

bool bp_profile_add_reading(
	struct bp_profile *profile, const struct bp_reading *reading, struct bp_error *error)
{
	return bp_readings_add(&profile->readings, reading) || bp_error_set(error, "out of memory");
}

bool bp_profile_add_pause(
	struct bp_profile *profile, const struct bp_pause *pause, struct bp_error *error)
{
	if (!RESERVE(profile->pauses, 1, error))
		return false;
	profile->pauses.data[profile->pauses.count++] = *pause;
	return true;
}

bool bp_profile_add_runtime_part(
	struct bp_profile *profile, const struct bp_runtime_part *part, struct bp_error *error)
{
	if (!RESERVE(profile->runtime_parts, 1, error))
		return false;
	profile->runtime_parts.data[profile->runtime_parts.count++] = *part;
	return true;
}

bool bp_profile_add_outage(
	struct bp_profile *profile, const struct bp_pause *outage, struct bp_error *error)
{
	if (!RESERVE(profile->outages, 1, error))
		return false;
	profile->outages.data[profile->outages.count++] = *outage;
	return true;
}

bool bp_profile_add_interval(
	struct bp_profile *profile, const struct bp_interval_used *used, struct bp_error *error)
{
	if (!RESERVE(profile->intervals, 1, error))
		return false;
	profile->intervals.data[profile->intervals.count++] = *used;
	return true;
}

bool bp_profile_set_frames(struct bp_profile *profile, struct bp_location_id location,
	const struct bp_frame *frames, uint32_t count, struct bp_error *error)
{
	if (!RESERVE(profile->frames, count, error))
		return false;
	struct bp_location *entry = &profile->locations.data[location.i];
	entry->first_frame.i = profile->frames.count;
	entry->frame_count = count;
	entry->resolved = true;
	memcpy(&profile->frames.data[profile->frames.count], frames, count * sizeof *frames);
	profile->frames.count += count;
	return true;
}

static struct bp_process_id find_trace_id(const struct bp_profile *profile, const uint8_t *trace_id)
{
	static const uint8_t no_trace_id[16];
	const struct bp_id_index *index = &profile->index->processes;
	uint32_t hash = bp_hash_fold(bp_hash_bytes(1, trace_id, 16));
	uint32_t position = hash, id;
	if (memcmp(trace_id, no_trace_id, 16) == 0)
		return (struct bp_process_id){ 0 };
	while ((id = bp_id_index_next(index, hash, &position)) != 0)
		if (memcmp(profile->processes.data[id].trace_id, trace_id, 16) == 0)
			break;
	return (struct bp_process_id){ id };
}

/* The image of the same pid that ended in an exec last before `process` began. */
static struct bp_process_id find_earlier_image(const struct bp_profile *profile, uint32_t process)
{
	const struct bp_process *later = &profile->processes.data[process];
	struct bp_process_id found = { 0 };
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *p = &profile->processes.data[i];
		if (i == process || p->pid != later->pid || p->end_reason != END_BY_EXEC ||
			p->start_time_ns >= later->start_time_ns)
			continue;
		if (found.i == 0 ||
			p->start_time_ns > profile->processes.data[found.i].start_time_ns)
			found.i = i;
	}
	return found;
}

/* Would `parent` as parent of `process` close a circle? Only hostile files do that. */
static bool is_ancestor(const struct bp_profile *profile, uint32_t process, uint32_t parent)
{
	for (uint32_t steps = 0; parent != 0; steps++) {
		if (parent == process || steps > profile->processes.count)
			return true;
		parent = profile->processes.data[parent].parent.i;
	}
	return false;
}

static uint32_t link_processes(struct bp_profile *profile)
{
	uint32_t roots = 0;
	profile->root.i = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		profile->processes.data[i].parent.i = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		struct bp_process *process = &profile->processes.data[i];
		struct bp_process_id parent = find_trace_id(profile, process->parent_trace_id);
		if (parent.i == 0)
			parent = find_earlier_image(profile, i);
		if (parent.i != 0 && !is_ancestor(profile, i, parent.i)) {
			process->parent = parent;
			continue;
		}
		roots++;
		if (profile->root.i == 0 ||
			process->start_time_ns <
				profile->processes.data[profile->root.i].start_time_ns)
			profile->root.i = i;
	}
	return roots;
}

/* Moves samples as they were added to where they are kept. */
static bool take_added(struct bp_profile *profile, struct bp_error *error)
{
	for (uint32_t i = 1; i < profile->added.count; i++) {
		const struct bp_sample *sample = &profile->added.data[i];
		uint32_t stack;
		if (!bp_samples_stack_number(&profile->samples, sample->stack, &stack, error) ||
			!bp_samples_add(&profile->samples, sample, stack, error))
			return false;
	}
	profile->added.count = 1;
	void *data = realloc(profile->added.data, sizeof *profile->added.data);
	if (data != NULL) {
		profile->added.data = data;
		profile->added.capacity = 1;
	}
	return true;
}

bool bp_profile_finish_import(struct bp_profile *profile, bool unrelated, struct bp_error *error)
{
	uint32_t roots = link_processes(profile);
	profile->merged_unrelated = unrelated && roots > 1;
	if (!take_added(profile, error))
		return false;
	profile->lacks = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		profile->processes.data[i].size_min = UINT64_MAX;
		profile->lacks |= profile->processes.data[i].lacks;
	}
	for (uint32_t i = 0; i < profile->samples.alike_count; i++) {
		const struct bp_alike *alike = &profile->samples.alike[i];
		struct bp_process *process = &profile->processes.data[alike->process.i];
		if (alike->process.i != 0 && alike->size < process->size_min)
			process->size_min = alike->size;
	}
	return bp_profile_name_processes(profile, error) &&
	       bp_samples_sort(&profile->samples, error);
}
