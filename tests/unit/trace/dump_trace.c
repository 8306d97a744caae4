/* SPDX-License-Identifier: MIT */
/*
 * Prints what the reader makes of a trace, in the form of tools/trace_decode.py (without its slots
 * and chunks), so that the two can be compared line by line: compare_decoders.py does. Bytes of a
 * text that are not printable ASCII are written as \u00XX.
 */
#include <inttypes.h>
#include <stdio.h>

#include "trace/reader.h"

static void print_text(const char *name, struct bp_trace_text text)
{
	printf(", \"%s\": \"", name);
	for (uint32_t i = 0; i < text.bytes; i++) {
		unsigned char c = (unsigned char)text.data[i];
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_hex(const char *name, const void *data, size_t bytes)
{
	printf(", \"%s\": \"", name);
	for (size_t i = 0; i < bytes; i++)
		printf("%02x", ((const unsigned char *)data)[i]);
	putchar('"');
}

static void print_number(const char *name, uint64_t value)
{
	printf(", \"%s\": %" PRIu64, name, value);
}

static void print_bool(const char *name, bool value)
{
	printf(", \"%s\": %s", name, value ? "true" : "false");
}

/* The name of a field in the file is that of the member. */
#define NUMBER(from, member) print_number(#member, (from)->member)

static void print_header(const struct bp_trace_reader *reader)
{
	const struct bp_trace_header *header = &reader->header;
	printf("{\"line\": \"header\"");
	print_text("magic", (struct bp_trace_text){ header->magic, sizeof header->magic });
	NUMBER(header, version_major);
	NUMBER(header, version_minor);
	NUMBER(header, header_bytes);
	NUMBER(header, flags_fatal);
	NUMBER(header, flags_skippable);
	NUMBER(header, checksum);
	NUMBER(header, chunk_bytes);
	NUMBER(header, page_bytes);
	print_hex("trace_id", header->trace_id, 16);
	print_hex("parent_trace_id", header->parent_trace_id, 16);
	NUMBER(header, parent_sequence);
	NUMBER(header, exec_number);
	NUMBER(header, pid);
	NUMBER(header, parent_pid);
	NUMBER(header, machine);
	NUMBER(header, pid_namespace);
	NUMBER(header, start_monotonic_ns);
	NUMBER(header, start_real_ns);
	NUMBER(header, interval_bytes);
	NUMBER(header, law);
	NUMBER(header, charge_bytes);
	NUMBER(header, seed);
	NUMBER(header, seed_given);
	NUMBER(header, recognition);
	NUMBER(header, unprofiled_reason);
	printf(", \"clock_offset_ns\": %lld", (long long)header->clock_offset_ns);
	print_text("program", reader->program);
	print_text("command_line", reader->command_line);
	print_text("allocator", reader->allocator);
	print_text("recorder_version", reader->recorder_version);
	printf("}\n");
}

static void print_state(const struct bp_trace_state *state)
{
	printf("{\"line\": \"state\"");
	NUMBER(state, state);
	NUMBER(state, chunks_reserved);
	NUMBER(state, end_reason);
	NUMBER(state, end_time_ns);
	NUMBER(state, end_trials);
	NUMBER(state, end_objects);
	NUMBER(state, last_sequence);
	NUMBER(state, samples);
	NUMBER(state, unoffered_trials);
	NUMBER(state, unoffered_objects);
	NUMBER(state, own_bytes);
	NUMBER(state, unmarked_fork);
	NUMBER(state, unmarked_children);
	NUMBER(state, open_threads);
	NUMBER(state, open_trials);
	NUMBER(state, end_signal);
	printf(", \"lost\": [");
	for (int i = 0; i < BP_LOSS_MAX; i++)
		printf("%s%" PRIu64, i == 0 ? "" : ", ", state->lost[i]);
	printf("], \"census\": {\"allocated_bytes\": %" PRIu64, state->verify_sums.allocated_bytes);
	NUMBER(&state->verify_sums, allocated_objects);
	NUMBER(&state->verify_sums, freed_bytes);
	NUMBER(&state->verify_sums, freed_objects);
	NUMBER(&state->verify_sums, peak_bytes);
	NUMBER(&state->verify_sums, peak_objects);
	NUMBER(&state->verify_sums, peak_time_ns);
	NUMBER(&state->verify_sums, smallest_size);
	NUMBER(&state->verify_sums, nested_bytes);
	NUMBER(&state->verify_sums, nested_objects);
	NUMBER(&state->verify_sums, uncounted_bytes);
	NUMBER(&state->verify_sums, uncounted_objects);
	NUMBER(&state->verify_sums, unknown_frees);
	NUMBER(&state->verify_sums, missed_frees);
	NUMBER(&state->verify_sums, failed_bytes);
	NUMBER(&state->verify_sums, failed_objects);
	putchar('}');
	NUMBER(state, control);
	NUMBER(state, covered_objects);
	NUMBER(state, objects);
	NUMBER(state, small_objects_time_ns);
	NUMBER(state, control_resume);
	NUMBER(state, budget_ppm);
	NUMBER(state, outage_since_ns);
	printf("}\n");
}

static void print_verify(const struct bp_trace_reader *reader)
{
	for (uint32_t i = 0; i < reader->verify_sums_count; i++) {
		const struct bp_trace_verify_sums *sums = &reader->verify_sums[i];
		printf("{\"line\": \"census\"");
		NUMBER(sums, state);
		NUMBER(sums, stack);
		NUMBER(sums, allocated_bytes);
		NUMBER(sums, allocated_objects);
		NUMBER(sums, freed_bytes);
		NUMBER(sums, freed_objects);
		NUMBER(sums, temporary_bytes);
		NUMBER(sums, temporary_objects);
		printf("}\n");
	}
}

static void print_sample(const struct bp_trace_sample *sample)
{
	NUMBER(sample, flags);
	NUMBER(sample, kind);
	NUMBER(sample, thread);
	NUMBER(sample, sequence);
	NUMBER(sample, time_ns);
	NUMBER(sample, address);
	NUMBER(sample, size);
	NUMBER(sample, alignment_log2);
	NUMBER(sample, usable);
	print_bool("exact", sample->exact);
	NUMBER(sample, offset);
	NUMBER(sample, stack);
	NUMBER(sample, trials);
	NUMBER(sample, objects);
	NUMBER(sample, interval);
	NUMBER(sample, law);
	NUMBER(sample, labels);
	NUMBER(sample, type);
	NUMBER(sample, heap);
	NUMBER(sample, processor);
}

static void print_free(const struct bp_trace_free *record)
{
	NUMBER(record, flags);
	NUMBER(record, thread);
	NUMBER(record, sequence);
	NUMBER(record, time_ns);
	NUMBER(record, sample_sequence);
	NUMBER(record, trials);
	NUMBER(record, objects);
	NUMBER(record, stack);
	NUMBER(record, processor);
}

static void print_stack(const struct bp_trace_stack *stack)
{
	NUMBER(stack, id);
	NUMBER(stack, flags);
	NUMBER(stack, epoch);
	printf(", \"frames\": [");
	for (uint32_t i = 0; i < stack->depth; i++)
		printf("%s[%" PRIu64 ", %d]", i == 0 ? "" : ", ", stack->frames[i].pc,
			stack->frames[i].exact);
	putchar(']');
}

static void print_named_stack(const struct bp_trace_stack *stack)
{
	NUMBER(stack, id);
	NUMBER(stack, flags);
	printf(", \"frames\": [");
	for (uint32_t i = 0; i < stack->depth; i++)
		printf("%s%" PRIu64, i == 0 ? "" : ", ", stack->frames[i].pc);
	putchar(']');
}

static void print_mixed_stack(const struct bp_trace_stack *stack)
{
	NUMBER(stack, id);
	NUMBER(stack, native);
	NUMBER(stack, flags);
	printf(", \"frames\": [");
	for (uint32_t i = 0; i < stack->depth; i++)
		printf("%s[%" PRIu64 ", %" PRIu64 "]", i == 0 ? "" : ", ",
			stack->frames[i].pc & UINT32_MAX, stack->frames[i].pc >> 32);
	putchar(']');
}

static void print_interpreter(const struct bp_trace_interpreter *interpreter)
{
	NUMBER(interpreter, version);
	NUMBER(interpreter, address);
	NUMBER(interpreter, frames);
	NUMBER(interpreter, objects);
	NUMBER(interpreter, small_bytes);
	print_text("name", interpreter->name);
}

/* `text`: what the decoder calls it. */
static void print_name(const struct bp_trace_name *name, bool frame, const char *text)
{
	NUMBER(name, id);
	if (frame)
		print_number("source_line", name->line);
	print_text(text, name->text);
	if (frame)
		print_text("file", name->file);
}

static void print_module(const struct bp_trace_module *module, bool gone)
{
	NUMBER(module, id);
	NUMBER(module, epoch);
	if (gone)
		return;
	NUMBER(module, start);
	NUMBER(module, end);
	NUMBER(module, bias);
	NUMBER(module, file_bytes);
	NUMBER(module, file_mtime_ns);
	print_hex("build_id", module->build_id.data, module->build_id.bytes);
	print_text("path", module->path);
}

static void print_thread_event(const struct bp_trace_thread_event *thread, bool end)
{
	NUMBER(thread, ordinal);
	NUMBER(thread, tid);
	NUMBER(thread, time_ns);
	if (end) {
		NUMBER(thread, trials);
		NUMBER(thread, objects);
		NUMBER(thread, unoffered_trials);
		NUMBER(thread, unoffered_objects);
	}
	print_text("name", thread->name);
}

static void print_interval(const struct bp_trace_interval *change)
{
	NUMBER(change, thread);
	NUMBER(change, time_ns);
	NUMBER(change, sequence);
	NUMBER(change, trials);
	NUMBER(change, objects);
	NUMBER(change, interval);
	NUMBER(change, command);
	NUMBER(change, bound);
}

static void print_folded(const struct bp_trace_folded *folded)
{
	struct bp_trace_folded walk = *folded;
	struct bp_trace_folded_entry entry;
	bool first = true;
	NUMBER(folded, flags);
	NUMBER(folded, kind);
	NUMBER(folded, thread);
	NUMBER(folded, stack);
	NUMBER(folded, interval);
	NUMBER(folded, law);
	NUMBER(folded, alignment_log2);
	NUMBER(folded, labels);
	NUMBER(folded, type);
	NUMBER(folded, heap);
	printf(", \"entries\": [");
	for (; bp_trace_folded_next(&walk, &entry); first = false)
		printf("%s[%" PRIu64 ", %" PRIu64 ", %u, %u, %u, %u, %" PRIu64 "]",
			first ? "" : ", ", entry.size, entry.usable, entry.birth, entry.death,
			entry.count, entry.halves, entry.offsets);
	putchar(']');
}

static void print_readings(const struct bp_trace_readings *readings)
{
	struct bp_trace_readings walk = *readings;
	struct bp_trace_reading reading;
	bool first = true;
	NUMBER(readings, thread);
	printf(", \"readings\": [");
	for (; bp_trace_readings_next(&walk, &reading); first = false)
		printf("%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", first ? "" : ", ",
			reading.time_ns, reading.trials, reading.objects);
	putchar(']');
}

/* The last `count` ticks of the clock: those of this record. */
static void print_ticks(const struct bp_trace_clock *clock, uint32_t count)
{
	printf(", \"ticks\": [");
	for (uint32_t i = clock->count - count; i < clock->count; i++)
		printf("%s[%" PRIu64 ", %" PRIu64 "]", i == clock->count - count ? "" : ", ",
			clock->ticks[i].time_ns, clock->ticks[i].sequence);
	putchar(']');
}

static void print_ranges(const struct bp_trace_held *held, uint32_t count)
{
	printf(", \"ranges\": [");
	for (uint32_t i = held->count - count; i < held->count; i++)
		printf("%s[%" PRIu64 ", %" PRIu64 "]", i == held->count - count ? "" : ", ",
			held->ranges[i].first, held->ranges[i].count);
	putchar(']');
}

static void print_outage(const struct bp_trace_outage *outage)
{
	NUMBER(outage, from_ns);
	NUMBER(outage, to_ns);
}

static void print_exec(const struct bp_trace_exec *exec)
{
	NUMBER(exec, time_ns);
	NUMBER(exec, sequence);
	NUMBER(exec, pid);
	NUMBER(exec, unseen);
	print_text("path", exec->path);
}

static void print_fork(const struct bp_trace_fork *fork)
{
	NUMBER(fork, time_ns);
	NUMBER(fork, sequence);
	NUMBER(fork, child_pid);
}

static void print_mapping(const struct bp_trace_mapping *mapping)
{
	NUMBER(mapping, thread);
	NUMBER(mapping, time_ns);
	NUMBER(mapping, before);
	NUMBER(mapping, sequence);
	NUMBER(mapping, what);
	NUMBER(mapping, address);
	NUMBER(mapping, bytes);
	NUMBER(mapping, old_address);
	NUMBER(mapping, old_bytes);
	NUMBER(mapping, protection);
	NUMBER(mapping, flags);
	NUMBER(mapping, stack);
}

/* By tag. */
static const char *const names[] = { "", "sample", "free", "stack", "module", "module_gone",
	"thread_begin", "thread_end", "exec", "fork", "interval", "folded", "readings", "ticks",
	"held", "type", "frame", "named_stack", "labels", "outage", "mixed_stack", "interpreter",
	"mapping" };

static void print_record(const struct bp_trace_record *record, const struct bp_trace_reader *reader)
{
	const struct bp_trace_clock *clock = &reader->part.clock;
	const struct bp_trace_held *held = &reader->part.held;
	printf("{\"line\": \"%s\"", names[record->tag]);
	switch (record->tag) {
	case BP_TAG_SAMPLE:
		print_sample(&record->sample);
		break;
	case BP_TAG_FREE:
		print_free(&record->free);
		break;
	case BP_TAG_STACK:
		print_stack(&record->stack);
		break;
	case BP_TAG_MODULE:
	case BP_TAG_MODULE_GONE:
		print_module(&record->module, record->tag == BP_TAG_MODULE_GONE);
		break;
	case BP_TAG_THREAD_BEGIN:
	case BP_TAG_THREAD_END:
		print_thread_event(&record->thread, record->tag == BP_TAG_THREAD_END);
		break;
	case BP_TAG_EXEC:
		print_exec(&record->exec);
		break;
	case BP_TAG_FORK:
		print_fork(&record->fork);
		break;
	case BP_TAG_INTERVAL:
		print_interval(&record->interval);
		break;
	case BP_TAG_OUTAGE:
		print_outage(&record->outage);
		break;
	case BP_TAG_MAPPING:
		print_mapping(&record->mapping);
		break;
	case BP_TAG_NAMED_STACK:
	case BP_TAG_MIXED_STACK:
		(record->tag == BP_TAG_MIXED_STACK ? print_mixed_stack : print_named_stack)(
			&record->stack);
		break;
	case BP_TAG_INTERPRETER:
		print_interpreter(&record->interpreter);
		break;
	case BP_TAG_TYPE:
	case BP_TAG_LABELS:
		print_name(&record->name, false, record->tag == BP_TAG_TYPE ? "name" : "text");
		break;
	case BP_TAG_FRAME:
		print_name(&record->name, true, "function");
		break;
	case BP_TAG_FOLDED:
	case BP_TAG_FOLDED_TOLD:
		print_folded(&record->folded);
		break;
	case BP_TAG_READINGS:
		print_readings(&record->readings);
		break;
	case BP_TAG_TICKS:
		NUMBER(&record->ticks, resolution_ns);
		print_ticks(clock, record->ticks.count);
		break;
	case BP_TAG_HELD:
		print_ranges(held, record->ranges.count);
		break;
	}
	printf("}\n");
}

static void print_limits(const char *name, struct bp_trace_limits limits)
{
	printf(", \"%s_low\": %" PRIu64 ", \"%s_high\": %" PRIu64, name, limits.low, name,
		limits.high);
}

static void print_threads(const struct bp_trace_reader *reader)
{
	for (uint32_t i = 0; i < reader->thread_count; i++) {
		const struct bp_trace_thread *thread = &reader->threads[i];
		printf("{\"line\": \"thread\"");
		NUMBER(thread, ordinal);
		NUMBER(thread, tid);
		print_bool("ended", thread->ended);
		print_bool("published", thread->published);
		NUMBER(thread, trials_low);
		NUMBER(thread, trials_high);
		NUMBER(thread, objects_low);
		NUMBER(thread, objects_high);
		NUMBER(thread, bytes_low);
		NUMBER(thread, bytes_high);
		print_limits("on_bytes", thread->on_bytes);
		print_limits("off_bytes", thread->off_bytes);
		print_limits("on_objects", thread->on_objects);
		print_limits("off_objects", thread->off_objects);
		NUMBER(thread, unoffered_trials);
		NUMBER(thread, unoffered_objects);
		printf("}\n");
	}
}

static void print_totals(const struct bp_trace_reader *reader)
{
	const struct bp_trace_totals totals = bp_trace_reader_totals(reader);
	printf("{\"line\": \"totals\"");
	print_bool("exact", totals.exact);
	NUMBER(&totals, trials_low);
	NUMBER(&totals, trials_high);
	NUMBER(&totals, objects_low);
	NUMBER(&totals, objects_high);
	NUMBER(&totals, bytes_low);
	NUMBER(&totals, bytes_high);
	NUMBER(&totals, unoffered_trials);
	NUMBER(&totals, unoffered_objects);
	print_limits("on_bytes", totals.on_bytes);
	print_limits("off_bytes", totals.off_bytes);
	print_limits("on_objects", totals.on_objects);
	print_limits("off_objects", totals.off_objects);
	NUMBER(reader, interval_min);
	NUMBER(reader, interval_max);
	printf("}\n{\"line\": \"counts\"");
	NUMBER(reader, samples);
	NUMBER(reader, frees);
	NUMBER(reader, damaged_chunks);
	NUMBER(reader, skipped_records);
	printf("}\n");
}

#define AT_ONCE 7u

/* Prints all records. `at_once`: samples and frees are read by the handful. */
static enum bp_trace_next print_records(
	struct bp_trace_reader *reader, bool at_once, struct bp_error *error)
{
	struct bp_trace_record record, records[AT_ONCE];
	enum bp_trace_next next;
	do {
		uint32_t count = at_once ? AT_ONCE : 0;
		while (count > 0) {
			if (!bp_trace_reader_numbers(reader, records, AT_ONCE, &count, error))
				return BP_TRACE_ERROR;
			for (uint32_t i = 0; i < count; i++)
				print_record(&records[i], reader);
		}
		next = bp_trace_reader_next(reader, &record, error);
		if (next == BP_TRACE_RECORD)
			print_record(&record, reader);
	} while (next == BP_TRACE_RECORD);
	return next;
}

int main(int argc, char **argv)
{
	struct bp_trace_reader reader;
	struct bp_error error = { .text = "" };
	const bool at_once = argc == 3 && strcmp(argv[1], "--at-once") == 0;
	if (argc != 2 + at_once)
		return 2;
	if (!bp_trace_reader_open(&reader, argv[1 + at_once], &error)) {
		fprintf(stderr, "dump_trace: %s\n", error.text);
		return 1;
	}
	print_header(&reader);
	print_state(&reader.state);
	const enum bp_trace_next next = print_records(&reader, at_once, &error);
	if (next == BP_TRACE_END) {
		print_verify(&reader);
		print_threads(&reader);
		print_totals(&reader);
	} else {
		fprintf(stderr, "dump_trace: %s\n", error.text);
	}
	bp_trace_reader_close(&reader);
	return next == BP_TRACE_END ? 0 : 1;
}
