/* SPDX-License-Identifier: MIT */
/*
 * Prints what the reader of .nettrace files and their importer found in one, for the driver that
 * holds it against another decoder. Tab-separated, one thing a line:
 *
 *	kind    provider, event, version, events
 *	lost    capture thread, events of it that are missing
 *	file    version, pointer bytes, process, processors, ticks a second, events, damaged events,
 *	        damaged blocks, 1 if cut, events of the block that is cut
 *	process samples, invalid events, lost events, frames, frames with a name, 1 if cut
 *	runtime its name, if it says how large its heap was
 *	part    kind (enum bp_runtime_part_kind), time in ns, bytes, 1 if it has live objects, name
 *	sample  type's id and name, size, offset, heap, thread, time in ns, sequence, then its frames,
 *	        innermost first: names, or hexadecimal addresses
 */
#include <inttypes.h>
#include <stdio.h>

#include "import/dotnet/nettrace_reader.h"
#include "import/import.h"

static bool pass_event(void *context, const struct bp_nettrace_event *event)
{
	(void)context;
	(void)event;
	return true;
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

static bool print_file(const char *path, struct bp_error *error)
{
	const struct bp_nettrace_handler handler = { NULL, pass_event, pass_stack, pass_flush };
	struct bp_nettrace_reader reader;
	const bool read = bp_nettrace_open(&reader, path, error) &&
			  bp_nettrace_read(&reader, &handler, error);
	for (uint32_t i = 0; read && i < reader.kind_count; i++)
		printf("kind\t%s\t%u\t%u\t%" PRIu64 "\n", reader.kinds[i].provider,
			reader.kinds[i].event, reader.kinds[i].version, reader.kinds[i].count);
	for (uint32_t i = 0; read && i < reader.thread_count; i++)
		printf("lost\t%" PRIu64 "\t%" PRIu64 "\n", reader.threads[i].key,
			reader.threads[i].lost);
	if (read)
		printf("file\t%u\t%u\t%" PRIu64 "\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		       "\t%" PRIu64 "\t%d\t%" PRIu64 "\n",
			reader.version, reader.pointer_bytes, reader.process_id, reader.processors,
			reader.ticks_per_second, reader.events, reader.bad_events,
			reader.bad_blocks, reader.cut, reader.events_in_cut_block);
	bp_nettrace_close(&reader);
	return read;
}

static void print_sample(const struct bp_profile *profile, const struct bp_sample *sample)
{
	const struct bp_type *type = &profile->types.data[sample->type.i];
	const struct bp_stack *stack = &profile->stacks.data[sample->stack.i];
	printf("sample\t%" PRIx64 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%u\t%u\t%" PRIu64 "\t%" PRIu64,
		type->id, bp_profile_text(profile, type->name), sample->size, sample->offset,
		(int)sample->kind - BP_PROFILE_KIND_SMALL,
		profile->threads.data[sample->thread.i].tid, sample->time_ns, sample->sequence);
	for (uint32_t i = 0; i < stack->depth; i++) {
		const struct bp_location *location =
			&profile->locations
				 .data[profile->stack_locations.data[stack->first_location + i].i];
		const struct bp_frame *frame = &profile->frames.data[location->first_frame.i];
		if (location->resolved)
			printf("\t%s", bp_profile_text(profile, frame->function));
		else
			printf("\t%" PRIx64, location->address);
	}
	putchar('\n');
}

static void print_runtime(const struct bp_profile *profile, const struct bp_process *process)
{
	if (process->runtime.i != 0)
		printf("runtime\t%s\n", bp_profile_text(profile, process->runtime));
	for (uint32_t i = 0; i < profile->runtime_parts.count; i++) {
		const struct bp_runtime_part *part = &profile->runtime_parts.data[i];
		if (part->process.i == profile->root.i)
			printf("part\t%d\t%" PRIu64 "\t%" PRIu64 "\t%d\t%s\n", (int)part->kind,
				part->time_ns, part->bytes, part->has_live,
				bp_profile_text(profile, part->name));
	}
}

int main(int argument_count, char **arguments)
{
	struct bp_profile profile;
	struct bp_error error = { 0 };
	if (argument_count != 2 || !bp_profile_init(&profile, &error))
		return 2;
	if (!print_file(arguments[1], &error) || !bp_import_file(arguments[1], &profile, &error) ||
		!bp_profile_finish_import(&profile, false, &error)) {
		fprintf(stderr, "nettrace_lines: %s\n", error.text);
		bp_profile_finish(&profile);
		return 1;
	}
	const struct bp_process *process = &profile.processes.data[profile.root.i];
	printf("process\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%d\n",
		process->samples, process->lost[BP_PROFILE_LOST_INVALID],
		process->lost[BP_PROFILE_LOST_EVENTS], process->frames, process->frames_named,
		process->cut_off);
	print_runtime(&profile, process);
	for (uint32_t i = 1; i < profile.samples.count; i++) {
		const struct bp_sample sample = bp_profile_sample(&profile, i);
		print_sample(&profile, &sample);
	}
	bp_profile_finish(&profile);
	return 0;
}
