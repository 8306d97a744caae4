/* SPDX-License-Identifier: MIT */
/*
 * Importer of .nettrace files: the AllocationSampled events of .NET 10 become samples.
 * nettrace_reader.h reads the file, dotnet_events.h the events; here they are put together. The
 * sizes of the heap after each garbage collection are added as they are (dotnet_heap_sizes.h).
 *
 * What such a file does not have. No counters: totals are estimates like everything else. No frees:
 * live, peak and temporary are absent. Not the interval: the runtime's is 102,400 bytes, which is
 * an assumption that a user can replace. The law is a trial for each byte of the object as the heap
 * holds it, whatever its size (Bernoulli, without a charge).
 *
 * Names of methods come before their code is used, or at the end of the session (the rundown, which
 * is most of a file: a gigabyte names millions of methods). So the file is read twice. The first
 * time samples go into the profile with the number of their stack (dotnet_stacks.h) and their time
 * in ticks of the file; the second time those methods are kept whose code is on a stack. A stack
 * whose addresses were the code of several methods, one after the other, is looked at anew for each
 * sample, at its time.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "import/dotnet/dotnet_events.h"
#include "import/dotnet/dotnet_heap_sizes.h"
#include "import/dotnet/dotnet_methods.h"
#include "import/dotnet/dotnet_stacks.h"
#include "import/dotnet/nettrace_clock.h"
#include "import/dotnet/nettrace_reader.h"
#include "import/import.h"

/* 100 KiB, a constant of the runtime. Its draws round down an exponential, so that the true mean is
 * half a byte more: five parts in a million. */
#define INTERVAL_OF_RUNTIME 102400u
/* Frames that the runtime records at most; deeper stacks miss their outermost ones. */
#define FRAMES_MAX 100u
#define KINDS_FROM BP_PROFILE_KIND_SMALL

struct known_id {
	uint64_t id; /* of the file */
	uint32_t i;  /* of the profile */
};

/* Ids of the file and what they are in the profile. */
struct id_map {
	struct known_id *entries;
	uint32_t count, capacity;
	struct bp_index index;
};

/* A stack of the file in the profile. */
struct resolved_stack {
	struct bp_stack_id id; /* 0: not yet, or it depends on the time */
	uint32_t named;	       /* of its frames, those with a name */
};

struct nettrace_import {
	struct bp_profile *profile;
	struct bp_error *error;
	struct bp_nettrace_reader reader;
	struct bp_process_id process; /* 0: not added yet */
	const char *path;
	uint32_t first_sample;
	uint64_t interval;
	uint64_t last_ns;
	uint64_t ticks, short_events, bad_offsets, nameless;
	struct bp_dotnet_stacks stacks;
	struct bp_dotnet_methods methods;
	struct bp_dotnet_heap_sizes heap_sizes;
	struct id_map threads, types, modules;
	struct resolved_stack *resolved; /* by stack number - 1 */
	struct bp_location_id locations[FRAMES_MAX * 4];
	uint64_t frames, frames_named;
	bool methods_listed; /* some event of the rundown tells of a method */
	/* Scratch: names are long. */
	struct bp_dotnet_sample sample;
	struct bp_dotnet_method method;
	struct bp_dotnet_module module;
	char text[BP_DOTNET_NAME_BYTES + 64];
};

static bool no_memory(const struct nettrace_import *import)
{
	return bp_error_set(import->error, "out of memory while reading a .nettrace file");
}

/* The entry of an id; NULL: it is not there. */
static struct known_id *find_id(const struct id_map *map, uint64_t id)
{
	if (map->count == 0)
		return NULL;
	const struct bp_index_keys keys = { &map->entries->id, sizeof *map->entries };
	const uint32_t found = bp_index_find(&map->index, keys, id);
	return found == BP_INDEX_NONE ? NULL : &map->entries[found];
}

static bool add_id(struct id_map *map, uint64_t id, uint32_t i)
{
	if (!bp_vec_reserve(
		    &map->entries, &map->capacity, (uint64_t)map->count + 1, sizeof *map->entries))
		return false;
	map->entries[map->count] = (struct known_id){ id, i };
	const struct bp_index_keys keys = { &map->entries->id, sizeof *map->entries };
	if (!bp_index_add(&map->index, keys, map->count))
		return false;
	map->count++;
	return true;
}

static void finish_ids(struct id_map *map)
{
	free(map->entries);
	bp_index_finish(&map->index);
}

/* The same file read twice is found by this. */
static void make_trace_id(const struct bp_nettrace_reader *reader, uint8_t *trace_id)
{
	uint64_t words[2] = { bp_hash_u64(reader->process_id + 1),
		bp_hash_u64(reader->start_ticks) };
	for (size_t i = 0; i < 8; i++)
		words[i % 2] = bp_hash_u64(words[i % 2] + reader->start_utc[i]);
	memcpy(trace_id, words, sizeof words);
}

static bool add_process(struct nettrace_import *import)
{
	const struct bp_nettrace_reader *reader = &import->reader;
	const uint32_t count = import->profile->processes.count;
	struct bp_process process = {
		.pid = (uint32_t)reader->process_id,
		.start_time_ns = bp_nettrace_ns(reader, reader->start_ticks),
		.start_real_ns = bp_nettrace_start_real_ns(reader),
		.profiled = true,
		.law = BP_PROFILE_BERNOULLI,
		.charge = 0,
		.interval_first = import->interval,
		.interval_max = import->interval,
		.lacks = BP_LACKS_INTERVAL | BP_LACKS_COUNTERS | BP_LACKS_FREES,
		.bytes_allocated = { 0, UINT64_MAX },
		.objects_allocated = { 0, UINT64_MAX },
		.size_min = UINT64_MAX,
		/* No object is smaller: header, type and one field. */
		.size_floor = (uint64_t)3 * reader->pointer_bytes,
	};
	make_trace_id(reader, process.trace_id);
	if (!bp_profile_string(import->profile, import->path, strlen(import->path), &process.file,
		    import->error) ||
		!bp_profile_add_process(import->profile, &process, &import->process, import->error))
		return false;
	return import->profile->processes.count != count ||
	       bp_error_set(import->error,
		       "%s: is the trace of a process that was read already: name each file once",
		       import->path);
}

/* ---- events ---- */

static bool take_process_info(struct nettrace_import *import, struct bp_bytes payload)
{
	struct bp_process *process = &import->profile->processes.data[import->process.i];
	struct bp_string_id words, program;
	if (!bp_dotnet_read_process_info(payload, import->text, sizeof import->text))
		return true;
	/* The program is the first word; a quoted one may hold spaces. */
	const char *from = import->text + (import->text[0] == '"');
	const size_t length = strcspn(from, import->text[0] == '"' ? "\"" : " ");
	if (!bp_profile_string(
		    import->profile, import->text, strlen(import->text), &words, import->error) ||
		!bp_profile_string(import->profile, from, length, &program, import->error))
		return false;
	process->command_line = words;
	process->program = program;
	return true;
}

/* The profile's thread; threads are numbered as they come. */
static bool thread_of(struct nettrace_import *import, uint64_t tid, uint32_t *ret_thread)
{
	const struct known_id *known = find_id(&import->threads, tid);
	struct bp_thread_id id;
	const struct bp_thread thread = { .process = import->process,
		.ordinal = import->threads.count + 1,
		.tid = (uint32_t)tid,
		.bytes_allocated = { 0, UINT64_MAX },
		.objects_allocated = { 0, UINT64_MAX } };
	if (known == NULL) {
		if (!bp_profile_add_thread(import->profile, &thread, &id, import->error))
			return false;
		if (!add_id(&import->threads, tid, id.i))
			return no_memory(import);
	}
	*ret_thread = known == NULL ? id.i : known->i;
	return true;
}

static bool type_of(struct nettrace_import *import, uint32_t *ret_type)
{
	const struct bp_dotnet_sample *sample = &import->sample;
	const struct known_id *known = find_id(&import->types, sample->type);
	struct bp_type_id id;
	struct bp_type type = { .process = import->process, .id = sample->type };
	if (known == NULL) {
		bp_dotnet_type_name(sample->name, sample->type, import->text, sizeof import->text);
		if (!bp_profile_string(import->profile, import->text, strlen(import->text),
			    &type.name, import->error) ||
			!bp_profile_add_type(import->profile, &type, &id, import->error))
			return false;
		if (!add_id(&import->types, sample->type, id.i))
			return no_memory(import);
	}
	*ret_type = known == NULL ? id.i : known->i;
	return true;
}

static bool take_sample(struct nettrace_import *import, const struct bp_nettrace_event *event)
{
	const struct bp_dotnet_sample *from = &import->sample;
	if (!bp_dotnet_read_sample(event->payload, import->reader.pointer_bytes, &import->sample)) {
		import->short_events++;
		return true;
	}
	if (from->offset >= from->size) {
		import->bad_offsets++;
		return true;
	}
	if (from->type == 0) {
		import->nameless++;
		return true;
	}
	struct bp_sample sample = {
		.size = from->size,
		.usable = from->size,
		.interval = import->interval,
		.offset = from->offset,
		.sequence = import->reader.events,
		.free_sequence = BP_TIME_NEVER,
		.time_ns = event->time,
		.free_time_ns = BP_TIME_NEVER,
		.process = import->process,
		.stack = { bp_dotnet_stacks_find(&import->stacks, event->stack) },
		.kind = (uint8_t)(from->heap <= BP_DOTNET_PINNED ? KINDS_FROM + from->heap : 0),
		.bernoulli = true,
	};
	return thread_of(import, event->thread, &sample.thread.i) &&
	       type_of(import, &sample.type.i) &&
	       bp_profile_add_sample(import->profile, &sample, import->error);
}

static bool take_module(struct nettrace_import *import, struct bp_bytes payload)
{
	struct bp_module module = { .process = import->process };
	struct bp_module_id id;
	if (!bp_dotnet_read_module(payload, &import->module) ||
		find_id(&import->modules, import->module.module) != NULL)
		return true;
	return bp_profile_string(import->profile, import->module.path, strlen(import->module.path),
		       &module.path, import->error) &&
	       bp_profile_add_module(import->profile, &module, &id, import->error) &&
	       (add_id(&import->modules, import->module.module, id.i) || no_memory(import));
}

static bool on_event(void *context, const struct bp_nettrace_event *event)
{
	struct nettrace_import *import = context;
	if (import->process.i == 0 && !add_process(import))
		return false;
	const uint64_t time_ns = bp_nettrace_ns(&import->reader, event->time);
	if (time_ns > import->last_ns)
		import->last_ns = time_ns;
	const enum bp_dotnet_event what = bp_dotnet_event_of(event->kind);
	switch (what) {
	case BP_DOTNET_SAMPLE:
		return take_sample(import, event);
	case BP_DOTNET_TICK:
		import->ticks++;
		return true;
	case BP_DOTNET_MODULE:
		return take_module(import, event->payload);
	case BP_DOTNET_PROCESS_INFO:
		return take_process_info(import, event->payload);
	default: /* methods: read_methods */
		return bp_dotnet_heap_sizes_event(&import->heap_sizes, what, event) ||
		       no_memory(import);
	}
}

static bool on_stack(void *context, uint32_t id, const uint8_t *pcs, uint32_t count)
{
	struct nettrace_import *import = context;
	return bp_dotnet_stacks_add(
		       &import->stacks, id, pcs, count, import->reader.pointer_bytes) ||
	       no_memory(import);
}

static bool on_flush(void *context)
{
	struct nettrace_import *import = context;
	bp_dotnet_stacks_flush(&import->stacks);
	return true;
}

/* ---- the end ---- */

/* Is it on a stack? `ret_method`: its place. */
static bool is_used(const struct nettrace_import *import, struct bp_bytes payload,
	enum bp_dotnet_event what, struct bp_dotnet_method *ret_method)
{
	const bool entry_point = what == BP_DOTNET_ENTRY_POINT;
	if (!(entry_point ? bp_dotnet_read_entry_point(payload, ret_method)
			  : bp_dotnet_read_place(payload, ret_method)))
		return false;
	const uint64_t start = ret_method->start;
	const uint64_t end =
		start + (entry_point ? BP_DOTNET_ENTRY_REACH_BYTES : ret_method->bytes);
	/* Place 0: the runtime looked for precompiled code of the method, and there is none. */
	return start != 0 && end >= start && bp_dotnet_stacks_in(&import->stacks, start, end);
}

static bool on_method(void *context, const struct bp_nettrace_event *event)
{
	struct nettrace_import *import = context;
	struct bp_dotnet_method *method = &import->method;
	struct bp_string_id name;
	const enum bp_dotnet_event what = bp_dotnet_event_of(event->kind);
	if (what != BP_DOTNET_METHOD_LOAD && what != BP_DOTNET_METHOD_UNLOAD &&
		what != BP_DOTNET_METHOD_RUNDOWN && what != BP_DOTNET_ENTRY_POINT)
		return true;
	import->methods_listed = import->methods_listed || what == BP_DOTNET_METHOD_RUNDOWN;
	if (!is_used(import, event->payload, what, method) ||
		(what != BP_DOTNET_ENTRY_POINT && !bp_dotnet_read_method(event->payload, method)))
		return true;
	if (!bp_profile_string(
		    import->profile, method->name, strlen(method->name), &name, import->error))
		return false;
	struct bp_dotnet_code code = { .start = method->start,
		.end = method->start + method->bytes,
		.loaded = what == BP_DOTNET_METHOD_LOAD ? event->time : 0,
		.unloaded = UINT64_MAX,
		.method = method->method,
		.module = method->module,
		.name = name.i };
	if (what == BP_DOTNET_METHOD_UNLOAD) {
		code.unloaded = event->time;
		return bp_dotnet_methods_unload(&import->methods, &code) || no_memory(import);
	}
	return bp_dotnet_methods_add(&import->methods, &code) || no_memory(import);
}

static bool pass_stack(void *context, uint32_t id, const uint8_t *pcs, uint32_t count)
{
	(void)context;
	(void)id;
	(void)pcs;
	(void)count;
	return true;
}

static bool pass_flush(void *context)
{
	(void)context;
	return true;
}

/* Reads the file again, for the methods that are on stacks. */
static bool read_methods(struct nettrace_import *import)
{
	const struct bp_nettrace_handler handler = { import, on_method, pass_stack, pass_flush };
	struct bp_nettrace_reader reader;
	if (!bp_dotnet_stacks_sort(&import->stacks))
		return no_memory(import);
	if (import->stacks.sorted_count == 0)
		return true;
	const bool read = bp_nettrace_open(&reader, import->path, import->error) &&
			  bp_nettrace_read(&reader, &handler, import->error);
	bp_nettrace_close(&reader);
	return read;
}

/* What became of the addresses of one stack. */
struct resolving {
	uint64_t time;
	uint32_t named;
	bool depends; /* on the time */
};

/* The place in code of a frame at a time; `return_address`: the code is before it. A method is one
 * place, whatever the address in it. */
static bool add_location(struct nettrace_import *import, uint64_t address, bool return_address,
	struct resolving *resolving, struct bp_location_id *ret_location)
{
	struct bp_profile *profile = import->profile;
	bool depends;
	const uint32_t found = bp_dotnet_methods_find(&import->methods,
		address - (return_address && address != 0), resolving->time, &depends);
	resolving->depends = resolving->depends || depends;
	if (found == BP_DOTNET_NO_METHOD)
		return bp_profile_add_location(profile, (struct bp_module_id){ 0 }, address,
			!return_address, ret_location, import->error);
	const struct bp_dotnet_code *code = &import->methods.codes[found];
	const struct known_id *module = find_id(&import->modules, code->module);
	const struct bp_frame frame = { .function = { code->name },
		.system_name = { code->name },
		.module = { module == NULL ? 0 : module->i },
		.named = true };
	resolving->named++;
	if (!bp_profile_add_location(profile, frame.module, (uint64_t)code->name << 32, true,
		    ret_location, import->error))
		return false;
	return profile->locations.data[ret_location->i].resolved ||
	       bp_profile_set_frames(profile, *ret_location, &frame, 1, import->error);
}

static bool resolve(struct nettrace_import *import, uint32_t number, uint64_t time,
	struct bp_stack_id *ret_stack)
{
	const struct bp_dotnet_stack *stack = &import->stacks.entries[number - 1];
	const uint64_t *pcs = import->stacks.pcs + stack->first;
	const uint32_t most = (uint32_t)(sizeof import->locations / sizeof import->locations[0]);
	const uint32_t depth = stack->depth < most ? stack->depth : most;
	struct resolved_stack *known = &import->resolved[number - 1];
	struct resolving resolving = { .time = time };
	import->frames += depth;
	if (known->id.i != 0) {
		import->frames_named += known->named;
		*ret_stack = known->id;
		return true;
	}
	for (uint32_t i = 0; i < depth; i++)
		if (!add_location(import, pcs[i], i != 0, &resolving, &import->locations[i]))
			return false;
	import->frames_named += resolving.named;
	if (!bp_profile_add_stack(import->profile, import->locations, depth,
		    depth >= FRAMES_MAX ? BP_PROFILE_STACK_CUT : 0, ret_stack, import->error))
		return false;
	if (!resolving.depends)
		*known = (struct resolved_stack){ *ret_stack, resolving.named };
	return true;
}

static bool finish_samples(struct nettrace_import *import)
{
	struct bp_process *process = &import->profile->processes.data[import->process.i];
	import->resolved = calloc((size_t)import->stacks.count + 1, sizeof *import->resolved);
	if (import->resolved == NULL || !bp_dotnet_methods_sort(&import->methods))
		return no_memory(import);
	for (uint32_t i = import->first_sample; i < import->profile->added.count; i++) {
		struct bp_sample *sample = &import->profile->added.data[i];
		const uint64_t ticks = sample->time_ns;
		const uint32_t number = sample->stack.i;
		sample->stack.i = 0;
		sample->time_ns = bp_nettrace_ns(&import->reader, ticks);
		if (number != 0 && !resolve(import, number, ticks, &sample->stack))
			return false;
		process->sampled_bytes += sample->size;
		if (sample->size < process->size_min)
			process->size_min = sample->size;
	}
	return true;
}

/* Types of one name are told apart by their ids. (Nested types come without their outer ones.) */
static bool name_types(struct nettrace_import *import)
{
	struct bp_profile *profile = import->profile;
	struct id_map names = { 0 };
	bool good = true;
	for (uint32_t i = 0; i < import->types.count && good; i++) {
		struct bp_type *type = &profile->types.data[import->types.entries[i].i];
		struct known_id *first = find_id(&names, type->name.i);
		if (first == NULL) {
			good = add_id(&names, type->name.i, import->types.entries[i].i) ||
			       no_memory(import);
			continue;
		}
		struct bp_type *same[] = { type, &profile->types.data[first->i] };
		const uint32_t name = type->name.i;
		for (size_t j = 0; j < 2 && good; j++) {
			if (same[j]->name.i != name)
				continue; /* has its id already */
			snprintf(import->text, sizeof import->text, "%s (0x%llx)",
				bp_profile_text(profile, same[j]->name),
				(unsigned long long)same[j]->id);
			good = bp_profile_string(profile, import->text, strlen(import->text),
				&same[j]->name, import->error);
		}
	}
	finish_ids(&names);
	return good;
}

static bool finish_process(struct nettrace_import *import)
{
	const struct bp_nettrace_reader *reader = &import->reader;
	struct bp_profile *profile = import->profile;
	struct bp_process *process = &profile->processes.data[import->process.i];
	process->end_time_ns =
		import->last_ns > process->start_time_ns ? import->last_ns : process->start_time_ns;
	process->samples = profile->added.count - import->first_sample;
	process->ended = !reader->cut;
	for (uint32_t i = 0; i < reader->thread_count; i++) {
		uint32_t thread;
		process->lost[BP_PROFILE_LOST_EVENTS] += reader->threads[i].lost;
		if (reader->threads[i].lost == 0)
			continue;
		if (!thread_of(import, reader->threads[i].tid, &thread))
			return false;
		profile->threads.data[thread].lost += reader->threads[i].lost;
	}
	process->lost[BP_PROFILE_LOST_INVALID] =
		import->short_events + import->bad_offsets + import->nameless;
	process->cut_off = reader->cut;
	process->damaged_chunks = reader->bad_blocks;
	process->frames = import->frames;
	process->frames_named = import->frames_named;
	process->methods_listed = import->methods_listed;
	process->other_events = import->ticks;
	return true;
}

static bool import_file(struct nettrace_import *import)
{
	const struct bp_nettrace_handler handler = { import, on_event, on_stack, on_flush };
	struct bp_error failure = { .text = "" };
	if (!bp_nettrace_open(&import->reader, import->path, import->error))
		return false;
	if (!bp_nettrace_read(&import->reader, &handler, &failure))
		return bp_error_set(import->error, "%s: %s", import->path,
			failure.text[0] != '\0' ? failure.text : import->error->text);
	if (import->process.i == 0 && !add_process(import))
		return false;
	const uint32_t samples = import->profile->added.count - import->first_sample;
	if (samples == 0 && import->ticks != 0)
		return bp_error_set(import->error,
			"%s: holds AllocationTick events only: one about every 100 KB, not chosen "
			"at random, so that no error can be stated: record AllocationSampled "
			"(.NET 10): `bytepoll dotnet`, or keyword 0x80000000001 at level 4",
			import->path);
	return read_methods(import) && finish_samples(import) && name_types(import) &&
	       finish_process(import) &&
	       bp_dotnet_heap_sizes_add_parts(&import->heap_sizes, &import->reader, import->profile,
		       import->process, import->error);
}

static bool import_nettrace(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	struct nettrace_import *import = calloc(1, sizeof *import);
	if (import == NULL)
		return bp_error_set(error, "%s: out of memory", path);
	import->profile = profile;
	import->error = error;
	import->path = path;
	import->first_sample = profile->added.count;
	profile->interval_assumed = profile->interval_assumed || profile->assume_interval != 0;
	import->interval =
		profile->assume_interval != 0 ? profile->assume_interval : INTERVAL_OF_RUNTIME;
	const bool imported = import_file(import);
	bp_nettrace_close(&import->reader);
	bp_dotnet_stacks_finish(&import->stacks);
	bp_dotnet_methods_finish(&import->methods);
	bp_dotnet_heap_sizes_finish(&import->heap_sizes);
	finish_ids(&import->threads);
	finish_ids(&import->types);
	finish_ids(&import->modules);
	free(import->resolved);
	free(import);
	return imported;
}

const struct bp_importer bp_import_nettrace = {
	.name = ".NET trace",
	.sniff = bp_nettrace_sniff,
	.import = import_nettrace,
};
