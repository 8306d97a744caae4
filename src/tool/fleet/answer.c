/* SPDX-License-Identifier: MIT */
/*
 * The answer of the engine as profiles; see answer.h. A frame becomes a place in code of its own,
 * whose address is its id. Of a sample's life only is kept what decides whether it is live: without
 * moments it begins with its process, and either never ends or ends at once; with moments it begins
 * at one of them, and ends at the second one or never; where a query has times it begins, and ends,
 * at the last of these that is not later than it did.
 */
#include "fleet/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "fleet/answer_fields.h"
#include "fleet/fleet_script.h"
#include "fleet/origin.h"
#include "query/selection.h"

#define SAMPLES_PER_ENTRY (UINT32_C(1) << 22) /* as `more` of struct bp_sample */

/* What tables can say at most: they may come from strangers. */
#define SIZE_MOST (INT64_C(1) << 56)
#define SAMPLES_MOST (INT64_C(1) << 40)
#define CHARGE_MOST (1u << 20)
#define TIME_MOST (INT64_C(1) << 62)

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error, "out of memory");
}

static struct bp_index_keys keys_of(const struct bp_answer_numbers *numbers)
{
	return (struct bp_index_keys){ numbers->ids, sizeof *numbers->ids };
}

static uint32_t find(const struct bp_answer_numbers *numbers, uint64_t id)
{
	const uint32_t place = bp_index_find(&numbers->index, keys_of(numbers), id);
	return place == BP_INDEX_NONE ? 0 : numbers->numbers[place];
}

static bool add(
	struct bp_answer_numbers *numbers, uint64_t id, uint32_t number, struct bp_error *error)
{
	if (!bp_vec_reserve(
		    &numbers->ids, &numbers->capacity, numbers->count + 1u, sizeof *numbers->ids) ||
		!bp_vec_reserve(&numbers->numbers, &numbers->number_capacity, numbers->count + 1u,
			sizeof *numbers->numbers))
		return no_memory(error);
	numbers->ids[numbers->count] = id;
	numbers->numbers[numbers->count] = number;
	if (!bp_index_add(&numbers->index, keys_of(numbers), numbers->count))
		return no_memory(error);
	numbers->count++;
	return true;
}

static void finish_numbers(struct bp_answer_numbers *numbers)
{
	free(numbers->ids);
	free(numbers->numbers);
	bp_index_finish(&numbers->index);
}

static bool wrong_answer(struct bp_error *error)
{
	return bp_error_set(error, "the engine: its answer is not what was asked for");
}

/* The process of a row, by its number, and its part; NULL where that failed. */
static struct bp_answer_part *part_of(
	struct bp_fields *fields, const struct bp_answer *answer, struct bp_process_id *ret_process)
{
	const int64_t number = bp_field_number(fields);
	const bool known = number > 0 && number <= answer->process_count;
	if (!fields->failed && !known)
		fields->failed = !wrong_answer(fields->error);
	if (fields->failed)
		return NULL;
	const struct bp_answer_process *process = &answer->processes[number - 1];
	*ret_process = process->id;
	return &answer->parts[process->part];
}

/* A thread of a process, in the part's index. */
static uint64_t thread_key(struct bp_process_id process, struct bp_fields *fields)
{
	return (uint64_t)process.i << 32 | (uint32_t)bp_field_number(fields);
}

static void take_id(const char *text, uint8_t ret_id[16])
{
	for (size_t i = 0; i < 16 && strlen(text) == 32; i++) {
		const char pair[3] = { text[2 * i], text[2 * i + 1], '\0' };
		ret_id[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
}

/* "3=12 16=2" */
static void take_losses(const char *text, uint64_t lost[BP_PROFILE_LOSSES])
{
	char *end;
	while (*text != '\0') {
		const unsigned long reason = strtoul(text, &end, 10);
		if (*end != '=')
			return;
		const unsigned long long count = strtoull(end + 1, &end, 10);
		if (reason < BP_PROFILE_LOSSES)
			lost[reason] = count;
		text = *end == ' ' ? end + 1 : "";
	}
}

static bool is_total(struct bp_known_total total)
{
	return total.low <= total.high;
}

static bool is_process(const struct bp_process *process)
{
	return is_total(process->bytes_allocated) && is_total(process->objects_allocated) &&
	       is_total(process->bytes_off) && is_total(process->objects_off) &&
	       process->law <= BP_PROFILE_BERNOULLI && process->charge <= CHARGE_MOST &&
	       process->start_time_ns <= process->end_time_ns &&
	       process->interval_first <= SIZE_MOST && process->interval_max <= SIZE_MOST;
}

/* The part of a machine, made when it is first seen; NULL: no memory. */
static struct bp_answer_part *part_of_host(
	struct bp_answer *answer, const char *host, struct bp_error *error)
{
	const uint32_t had = answer->host_capacity;
	struct bp_string_id name = { 0 };
	if (answer->apart && !bp_profile_string(&answer->names, host, strlen(host), &name, error))
		return NULL;
	if (!bp_vec_reserve(&answer->part_of_host, &answer->host_capacity, name.i + 1u,
		    sizeof *answer->part_of_host) ||
		!bp_vec_reserve(&answer->parts, &answer->capacity, answer->count + 1u,
			sizeof *answer->parts)) {
		no_memory(error);
		return NULL;
	}
	memset(answer->part_of_host + had, 0,
		(answer->host_capacity - had) * sizeof *answer->part_of_host);
	if (answer->part_of_host[name.i] == 0) {
		struct bp_answer_part *part = &answer->parts[answer->count];
		*part = (struct bp_answer_part){ .host = name };
		if (!bp_profile_init(&part->profile, error))
			return NULL;
		part->profile.keep_readings = answer->keep_readings;
		answer->part_of_host[name.i] = ++answer->count;
	}
	return &answer->parts[answer->part_of_host[name.i] - 1];
}

/* False: no memory. */
static bool set_origin(const struct bp_answer *answer, struct bp_answer_part *part,
	const struct bp_origin_heads *heads, struct bp_process *process, struct bp_error *error)
{
	size_t length;
	if (answer->origin == NULL)
		return true;
	const char *text = bp_origin_text(heads, answer->origin, &length);
	return bp_profile_string(&part->profile, text, length, &process->origin, error);
}

static bool take_process(struct bp_answer *answer, struct bp_fields *fields)
{
	struct bp_process process = { 0 };
	const int64_t number = bp_field_number(fields);
	take_id(bp_field_text(fields), process.trace_id);
	const char *run = bp_field_text(fields); /* those of a run come together */
	take_id(bp_field_text(fields), process.parent_trace_id);
	struct bp_origin_heads heads;
	heads.service = bp_field_text(fields);
	heads.release = bp_field_text(fields);
	heads.host = bp_field_text(fields);
	heads.tags = bp_field_text(fields);
	if (!fields->failed && number != answer->process_count + INT64_C(1))
		fields->failed = !wrong_answer(fields->error);
	if (fields->failed)
		return false;
	struct bp_answer_part *part = part_of_host(answer, heads.host, fields->error);
	if (part == NULL || !set_origin(answer, part, &heads, &process, fields->error))
		return false;
	if (strcmp(run, part->run) != 0)
		part->profile.stored_runs++;
	snprintf(part->run, sizeof part->run, "%s", run);
	take_losses(bp_field_text(fields), process.lost);
	part->profile.unread_files += (uint32_t)bp_field_number(fields);
	for (uint32_t i = BP_PROCESS_HEAD_COUNT; !fields->failed && i < bp_process_field_count;
		i++) {
		struct bp_parquet_value value;
		if (bp_process_column(i).type == BP_PARQUET_TEXT)
			value = (struct bp_parquet_value){ .text = bp_field_text(fields) };
		else
			value = bp_field_value(fields);
		if (!fields->failed && value.number < 0)
			fields->failed = !bp_field_is_wrong(fields);
		fields->failed = fields->failed || !bp_process_set(&part->profile, &process, i,
							   &value, fields->error);
	}
	if (!fields->failed && !is_process(&process))
		return bp_field_is_wrong(fields);
	struct bp_answer_process place = { .part = (uint32_t)(part - answer->parts) };
	if (fields->failed ||
		!bp_profile_add_process(&part->profile, &process, &place.id, fields->error))
		return false;
	if (!bp_vec_reserve(&answer->processes, &answer->process_capacity,
		    answer->process_count + 1u, sizeof *answer->processes))
		return no_memory(fields->error);
	answer->processes[answer->process_count++] = place;
	return true;
}

static bool take_thread(struct bp_answer *answer, struct bp_fields *fields)
{
	struct bp_thread thread = { .ordinal = 0 };
	struct bp_thread_id id;
	struct bp_answer_part *part = part_of(fields, answer, &thread.process);
	if (part == NULL)
		return false;
	const uint64_t key = thread_key(thread.process, fields);
	thread.ordinal = (uint32_t)bp_field_number(fields);
	thread.tid = (uint32_t)bp_field_number(fields);
	thread.name = bp_field_string(fields, &part->profile);
	thread.bytes_allocated.low = bp_field_amount(fields, INT64_MAX);
	thread.bytes_allocated.high = bp_field_open_number(fields);
	thread.objects_allocated.low = bp_field_amount(fields, INT64_MAX);
	thread.objects_allocated.high = bp_field_open_number(fields);
	thread.lost = bp_field_amount(fields, INT64_MAX);
	if (!fields->failed &&
		!(is_total(thread.bytes_allocated) && is_total(thread.objects_allocated)))
		return bp_field_is_wrong(fields);
	return !fields->failed &&
	       bp_profile_add_thread(&part->profile, &thread, &id, fields->error) &&
	       add(&part->threads, key, id.i, fields->error);
}

static bool add_reading(struct bp_answer_part *part, struct bp_reading *of,
	const uint64_t counters[2], struct bp_error *error)
{
	of->bytes = counters[0];
	of->objects = counters[1];
	return bp_profile_add_reading(&part->profile, of, error);
}

/* What a thread had allocated by a moment: two readings, one just before it and one at it. */
static bool take_reading(struct bp_answer *answer, struct bp_fields *fields)
{
	struct bp_reading of = { .bound = BP_READING_AT_LEAST };
	uint64_t least[2] = { 0 }, most[2] = { 0 };
	struct bp_process_id process;
	struct bp_answer_part *part = part_of(fields, answer, &process);
	if (part == NULL)
		return false;
	of.thread.i = find(&part->threads, thread_key(process, fields));
	const uint64_t edge_ns = bp_field_amount(fields, TIME_MOST);
	for (int i = 0; i < 2; i++) {
		least[i] = (uint64_t)bp_field_value(fields).number; /* (none: 0) */
		most[i] = bp_field_open_number(fields);
	}
	if (fields->failed)
		return false;
	if (least[0] > INT64_MAX || least[1] > INT64_MAX)
		return bp_field_is_wrong(fields);
	if (of.thread.i == 0)
		return true;
	of.time_ns = edge_ns - (edge_ns > 0);
	if (!add_reading(part, &of, least, fields->error))
		return false;
	of.bound = BP_READING_AT_MOST;
	of.time_ns = edge_ns;
	return add_reading(part, &of, most, fields->error);
}

static bool take_interval(struct bp_answer *answer, struct bp_fields *fields)
{
	struct bp_interval_used used = { .interval = 0 };
	struct bp_answer_part *part = part_of(fields, answer, &used.process);
	used.interval = bp_field_amount(fields, SIZE_MOST);
	used.trials = bp_field_open_number(fields);
	return !fields->failed && bp_profile_add_interval(&part->profile, &used, fields->error);
}

static bool take_pause(struct bp_answer *answer, struct bp_fields *fields)
{
	struct bp_pause pause = { .from_ns = 0 };
	struct bp_answer_part *part = part_of(fields, answer, &pause.process);
	if (part == NULL)
		return false;
	const uint64_t start_ns = part->profile.processes.data[pause.process.i].start_time_ns;
	pause.from_ns = start_ns + (uint64_t)bp_field_number(fields);
	const struct bp_parquet_value to = bp_field_value(fields);
	pause.to_ns = to.null ? BP_TIME_NEVER : start_ns + (uint64_t)to.number;
	const bool outage = bp_field_number(fields) != 0;
	return !fields->failed && (outage ? bp_profile_add_outage : bp_profile_add_pause)(
					  &part->profile, &pause, fields->error);
}

/* ---- frames and stacks ---- */

/* The profile whose frames and stacks are those of the answer; NULL: no process has come. */
static struct bp_profile *shared(struct bp_answer *answer)
{
	return answer->apart	   ? &answer->names
	       : answer->count > 0 ? &answer->parts[0].profile
				   : NULL;
}

/* A place of its own for a frame, whose module is `module`. */
static bool add_frame(struct bp_profile *profile, struct bp_frame *frame,
	const struct bp_module *module, uint64_t address, struct bp_location_id *ret_location,
	struct bp_error *error)
{
	return (*bp_profile_text(profile, module->path) == '\0' ||
		       bp_profile_add_module(profile, module, &frame->module, error)) &&
	       bp_profile_add_location(
		       profile, frame->module, address, true, ret_location, error) &&
	       bp_profile_set_frames(profile, *ret_location, frame, 1, error);
}

static bool take_frame(struct bp_answer *answer, struct bp_fields *fields)
{
	struct bp_profile *profile = shared(answer);
	struct bp_frame frame = { .line = 0 };
	struct bp_module module = { .start = 0 };
	struct bp_location_id location;
	if (profile == NULL)
		return wrong_answer(fields->error);
	const uint64_t id = (uint64_t)bp_field_number(fields);
	frame.function = bp_field_string(fields, profile);
	frame.system_name = bp_field_string(fields, profile);
	frame.source_file = bp_field_string(fields, profile);
	frame.line = (uint32_t)bp_field_number(fields);
	module.path = bp_field_string(fields, profile);
	module.build_id = bp_field_string(fields, profile);
	bp_field_number(fields); /* the address */
	frame.named = bp_field_number(fields) != 0;
	frame.inlined = bp_field_number(fields) != 0;
	frame.interpreted = bp_field_number(fields) != 0;
	return !fields->failed &&
	       add_frame(profile, &frame, &module, id, &location, fields->error) &&
	       add(&answer->locations, id, location.i, fields->error);
}

/* All frames of a stack have come. */
static bool close_stack(struct bp_answer *answer, struct bp_error *error)
{
	struct bp_stack_id id;
	if (!answer->open)
		return true;
	answer->open = false;
	return bp_profile_add_stack(
		       shared(answer), answer->places, answer->depth, answer->flags, &id, error) &&
	       add(&answer->stacks, answer->stack, id.i, error);
}

static bool take_stack(struct bp_answer *answer, struct bp_fields *fields)
{
	const uint64_t id = (uint64_t)bp_field_number(fields);
	bp_field_number(fields); /* the position: they come in its order */
	const uint64_t frame = (uint64_t)bp_field_number(fields);
	const uint8_t flags = (uint8_t)bp_field_number(fields);
	if (shared(answer) == NULL)
		return wrong_answer(fields->error);
	if (fields->failed ||
		(answer->open && id != answer->stack && !close_stack(answer, fields->error)))
		return false;
	if (!answer->open) {
		answer->open = true;
		answer->stack = id;
		answer->flags = flags;
		answer->depth = 0;
	}
	if (!bp_vec_reserve(&answer->places, &answer->place_capacity, answer->depth + 1u,
		    sizeof *answer->places))
		return no_memory(fields->error);
	answer->places[answer->depth++].i = find(&answer->locations, frame);
	return true;
}

/* A text of `from` in another profile. */
static bool copy_text(const struct bp_profile *from, struct bp_profile *to,
	struct bp_string_id *text, struct bp_error *error)
{
	const char *bytes = bp_profile_text(from, *text);
	return bp_profile_string(to, bytes, strlen(bytes), text, error);
}

/* A place of `names` in the profile of a part, with its frame. */
static bool copy_location(struct bp_answer *answer, struct bp_answer_part *part,
	struct bp_location_id *location, struct bp_error *error)
{
	const struct bp_profile *names = &answer->names;
	const uint32_t shared_id = location->i, known = find(&part->locations, shared_id);
	if (shared_id == 0 || known != 0) {
		location->i = known;
		return true;
	}
	const struct bp_location *of = &names->locations.data[shared_id];
	struct bp_frame frame = names->frames.data[of->first_frame.i];
	struct bp_module module = names->modules.data[frame.module.i];
	frame.module.i = 0;
	return copy_text(names, &part->profile, &frame.function, error) &&
	       copy_text(names, &part->profile, &frame.system_name, error) &&
	       copy_text(names, &part->profile, &frame.source_file, error) &&
	       copy_text(names, &part->profile, &module.path, error) &&
	       copy_text(names, &part->profile, &module.build_id, error) &&
	       add_frame(&part->profile, &frame, &module, of->address, location, error) &&
	       add(&part->locations, shared_id, location->i, error);
}

/* The stack of a sample, by its id in the store, in the profile of its part. */
static bool stack_in(struct bp_answer *answer, struct bp_answer_part *part, uint64_t id,
	struct bp_stack_id *ret_stack, struct bp_error *error)
{
	const struct bp_profile *names = &answer->names;
	const uint32_t shared_id = find(&answer->stacks, id);
	ret_stack->i = answer->apart ? find(&part->stacks, shared_id) : shared_id;
	if (shared_id == 0 || ret_stack->i != 0)
		return true;
	const struct bp_stack *stack = &names->stacks.data[shared_id];
	if (!bp_vec_reserve(
		    &answer->places, &answer->place_capacity, stack->depth, sizeof *answer->places))
		return no_memory(error);
	for (uint32_t i = 0; i < stack->depth; i++) {
		answer->places[i] = names->stack_locations.data[stack->first_location + i];
		if (!copy_location(answer, part, &answer->places[i], error))
			return false;
	}
	return bp_profile_add_stack(&part->profile, answer->places, stack->depth, stack->flags,
		       ret_stack, error) &&
	       add(&part->stacks, shared_id, ret_stack->i, error);
}

/* ---- samples ---- */

/* The number of a kind by its name. */
static uint32_t kind_of(const struct bp_profile *profile, const char *name)
{
	for (uint32_t i = 0; i < 16; i++)
		if (strcmp(bp_type_name(profile, i), name) == 0)
			return i;
	return 0;
}

/* As entries that stand for as many samples as one can. */
static bool add_samples(struct bp_answer_part *part, struct bp_sample *sample, uint64_t count,
	struct bp_error *error)
{
	while (count > 0) {
		const uint64_t some = count < SAMPLES_PER_ENTRY ? count : SAMPLES_PER_ENTRY;
		sample->more = (uint32_t)(some - 1) & (SAMPLES_PER_ENTRY - 1);
		sample->sequence = ++part->sequence;
		sample->free_sequence =
			sample->free_time_ns == BP_TIME_NEVER ? BP_TIME_NEVER : ++part->sequence;
		if (!bp_profile_add_sample(&part->profile, sample, error))
			return false;
		count -= some;
	}
	return true;
}

static bool take_sample(struct bp_answer *answer, struct bp_fields *fields)
{
	struct bp_sample sample = { .size = 0 };
	struct bp_answer_part *part = part_of(fields, answer, &sample.process);
	if (part == NULL)
		return false;
	struct bp_profile *profile = &part->profile;
	sample.thread.i = find(&part->threads, thread_key(sample.process, fields));
	const uint64_t start_ns = profile->processes.data[sample.process.i].start_time_ns;
	sample.time_ns = start_ns + bp_field_amount(fields, TIME_MOST);
	const struct bp_parquet_value end = bp_field_value(fields);
	sample.free_time_ns = end.null ? BP_TIME_NEVER : start_ns + (uint64_t)end.number;
	sample.temporary = bp_field_number(fields) != 0;
	sample.size = bp_field_amount(fields, SIZE_MOST);
	sample.usable = bp_field_amount(fields, SIZE_MOST);
	sample.interval = bp_field_amount(fields, SIZE_MOST);
	sample.exact = bp_field_number(fields) != 0;
	sample.bernoulli = bp_field_number(fields) != 0;
	sample.kind = kind_of(profile, bp_field_text(fields)) & 15;
	const char *type = bp_field_text(fields), *labels = bp_field_text(fields);
	const uint64_t stack = (uint64_t)bp_field_number(fields);
	const uint64_t count = bp_field_amount(fields, SAMPLES_MOST);
	if (fields->failed || !stack_in(answer, part, stack, &sample.stack, fields->error) ||
		(*type != '\0' && !bp_profile_add_named_type(profile, type, strlen(type),
					  &sample.type, fields->error)) ||
		!bp_profile_add_labels(
			profile, labels, strlen(labels), &sample.labels, fields->error))
		return false;
	return add_samples(part, &sample, count, fields->error);
}

bool bp_answer_take(void *context, struct bp_duckdb_row *row, struct bp_error *error)
{
	struct bp_answer *answer = context;
	struct bp_fields fields = { .row = row, .next = 1, .error = error };
	switch (row->fields[0][0]) {
	case BP_ROW_DUPLICATE:
		return bp_error_set(error,
			"process %.32s is in the store twice: remove one of the folders that hold it",
			bp_field_text(&fields));
	case BP_ROW_LEFT_OUT:
		answer->left_out = (uint32_t)bp_field_amount(&fields, UINT32_MAX);
		return !fields.failed;
	case BP_ROW_SUMMED:
		return bp_field_amount(&fields, UINT32_MAX) == 0
			       ? !fields.failed
			       : bp_error_set(error,
					 "%s of these runs are sums that `bytepoll compact` made, without "
					 "times: ask about whole runs, or about later ones by --since",
					 row->fields[1]);
	case BP_ROW_GONE:
		return bp_field_amount(&fields, UINT32_MAX) == 0
			       ? !fields.failed
			       : bp_error_set(error,
					 "the database was compacted, or runs were removed from it, while "
					 "it answered: ask again");
	case BP_ROW_PROCESS:
		return take_process(answer, &fields);
	case BP_ROW_THREAD:
		return take_thread(answer, &fields);
	case BP_ROW_READING:
		return take_reading(answer, &fields);
	case BP_ROW_INTERVAL:
		return take_interval(answer, &fields);
	case BP_ROW_PAUSE:
		return take_pause(answer, &fields);
	case BP_ROW_FRAME:
		return take_frame(answer, &fields);
	case BP_ROW_STACK:
		return take_stack(answer, &fields);
	case BP_ROW_SAMPLE:
		return close_stack(answer, error) && take_sample(answer, &fields);
	default:
		return wrong_answer(error);
	}
}

/* ---- the whole ---- */

bool bp_answer_init(struct bp_answer *answer, bool apart, bool keep_readings, const char *origin,
	struct bp_error *error)
{
	*answer = (struct bp_answer){
		.apart = apart, .keep_readings = keep_readings, .origin = origin
	};
	return !apart || bp_profile_init(&answer->names, error);
}

const char *bp_answer_host(const struct bp_answer *answer, const struct bp_answer_part *part)
{
	return bp_profile_text(&answer->names, part->host);
}

static int compare_hosts(const void *left, const void *right, void *context)
{
	return strcmp(bp_answer_host(context, left), bp_answer_host(context, right));
}

bool bp_answer_end(struct bp_answer *answer, struct bp_error *error)
{
	if (!close_stack(answer, error))
		return false;
	for (uint32_t i = 0; i < answer->count; i++) {
		struct bp_profile *profile = &answer->parts[i].profile;
		if (!bp_profile_finish_import(profile, true, error))
			return false;
		profile->merged_unrelated = true; /* also of one run: its times are not here */
	}
	if (answer->apart)
		qsort_r(answer->parts, answer->count, sizeof *answer->parts, compare_hosts, answer);
	return true;
}

void bp_answer_finish(struct bp_answer *answer)
{
	for (uint32_t i = 0; i < answer->count; i++) {
		struct bp_answer_part *part = &answer->parts[i];
		bp_profile_finish(&part->profile);
		finish_numbers(&part->threads);
		finish_numbers(&part->locations);
		finish_numbers(&part->stacks);
	}
	free(answer->parts);
	free(answer->processes);
	free(answer->part_of_host);
	bp_profile_finish(&answer->names);
	finish_numbers(&answer->locations);
	finish_numbers(&answer->stacks);
	free(answer->places);
	*answer = (struct bp_answer){ .count = 0 };
}
