/* SPDX-License-Identifier: MIT */
/*
 * The answer of the engine as a profile; see fleet.h. A frame becomes a place in code of its own,
 * whose address is its id. Of a sample's life only is kept what decides whether it is live: without
 * moments it begins with its process, and either never ends or ends at once; with moments it begins
 * at one of them, and ends at the second one or never; where a query has times it begins, and ends,
 * at the last of these that is not later than it did. The profile is marked as one of
 * unrelated runs, of which nobody asks for a peak.
 */
#include "fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "base/index.h"
#include "base/vec.h"
#include "fleet/engine.h"
#include "fleet/fleet_script.h"
#include "fleet/process_fields.h"
#include "query/selection.h"

#define SAMPLES_PER_ENTRY (UINT32_C(1) << 22) /* as `more` of struct bp_sample */

/* What tables can say at most: they may come from strangers. */
#define SIZE_MOST (INT64_C(1) << 56)
#define SAMPLES_MOST (INT64_C(1) << 40)
#define CHARGE_MOST (1u << 20)
#define TIME_MOST (INT64_C(1) << 62)

/* Numbers by an id of 64 bits. */
struct numbers {
	uint64_t *ids;
	uint32_t *numbers, count, capacity, number_capacity;
	struct bp_index index;
};

struct reading {
	struct bp_profile *profile;
	struct numbers locations, stacks, threads; /* threads by process and number */
	/* The stack whose frames come now: */
	bool open;
	uint64_t stack;
	uint8_t flags;
	struct bp_location_id *places;
	uint32_t depth, place_capacity;
	uint64_t sequence;
	uint32_t left_out;
	char run[BP_PROCESS_ID_BYTES]; /* of the process before */
};

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error, "out of memory");
}

static struct bp_index_keys keys_of(const struct numbers *numbers)
{
	return (struct bp_index_keys){ numbers->ids, sizeof *numbers->ids };
}

static uint32_t find(const struct numbers *numbers, uint64_t id)
{
	const uint32_t place = bp_index_find(&numbers->index, keys_of(numbers), id);
	return place == BP_INDEX_NONE ? 0 : numbers->numbers[place];
}

static bool add(struct numbers *numbers, uint64_t id, uint32_t number, struct bp_error *error)
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

static void finish_numbers(struct numbers *numbers)
{
	free(numbers->ids);
	free(numbers->numbers);
	bp_index_finish(&numbers->index);
}

/* ---- fields ---- */

/* A row whose fields are read one after another. */
struct fields {
	struct bp_duckdb_row *row;
	uint32_t next;
	bool failed;
	struct bp_error *error;
};

static struct bp_parquet_value value_of(struct fields *fields)
{
	struct bp_parquet_value value = { .number = 0 };
	fields->failed = fields->failed ||
			 !bp_duckdb_number(fields->row, fields->next++, &value, fields->error);
	return value;
}

static int64_t number_of(struct fields *fields)
{
	return value_of(fields).number;
}

static bool wrong_value(struct fields *fields)
{
	return bp_error_set(fields->error,
		"the store has tables with impossible values: is somebody else writing into it?");
}

/* A number from 0 to `most`. */
static uint64_t amount_of(struct fields *fields, int64_t most)
{
	const int64_t number = number_of(fields);
	if (!fields->failed && (number < 0 || number > most))
		fields->failed = !wrong_value(fields);
	return fields->failed ? 0 : (uint64_t)number;
}

/* Without a value: no upper limit. */
static uint64_t open_number_of(struct fields *fields)
{
	const struct bp_parquet_value value = value_of(fields);
	return value.null ? UINT64_MAX : (uint64_t)value.number;
}

static const char *text_of(struct fields *fields)
{
	struct bp_parquet_value value = { .text = "" };
	fields->failed = fields->failed ||
			 !bp_duckdb_text(fields->row, fields->next++, &value, fields->error);
	return value.text;
}

static struct bp_string_id string_of(struct fields *fields, struct bp_profile *profile)
{
	struct bp_string_id string = { 0 };
	const char *text = text_of(fields);
	fields->failed = fields->failed ||
			 !bp_profile_string(profile, text, strlen(text), &string, fields->error);
	return string;
}

/* The process of a row, by its number. */
static struct bp_process_id process_of(struct fields *fields, const struct bp_profile *profile)
{
	const int64_t number = number_of(fields);
	const bool known = number > 0 && number < profile->processes.count;
	if (!fields->failed && !known)
		fields->failed = !bp_error_set(
			fields->error, "the engine: its answer is not what was asked for");
	return (struct bp_process_id){ known ? (uint32_t)number : 0 };
}

/* ---- rows ---- */

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

static bool take_process(struct reading *reading, struct fields *fields)
{
	struct bp_process process = { 0 };
	struct bp_process_id id;
	number_of(fields); /* ascending from 1, as processes are numbered here */
	take_id(text_of(fields), process.trace_id);
	const char *run = text_of(fields); /* those of a run come together */
	if (strcmp(run, reading->run) != 0)
		reading->profile->stored_runs++;
	snprintf(reading->run, sizeof reading->run, "%s", run);
	take_id(text_of(fields), process.parent_trace_id);
	for (uint32_t i = BP_PROCESS_service; i <= BP_PROCESS_tags; i++)
		text_of(fields);
	take_losses(text_of(fields), process.lost);
	reading->profile->unread_files += (uint32_t)number_of(fields);
	for (uint32_t i = BP_PROCESS_HEAD_COUNT; !fields->failed && i < bp_process_field_count;
		i++) {
		struct bp_parquet_value value;
		if (bp_process_column(i).type == BP_PARQUET_TEXT)
			value = (struct bp_parquet_value){ .text = text_of(fields) };
		else
			value = value_of(fields);
		if (!fields->failed && value.number < 0)
			fields->failed = !wrong_value(fields);
		fields->failed = fields->failed || !bp_process_set(reading->profile, &process, i,
							   &value, fields->error);
	}
	if (!fields->failed && !is_process(&process))
		return wrong_value(fields);
	return !fields->failed &&
	       bp_profile_add_process(reading->profile, &process, &id, fields->error);
}

static bool take_thread(struct reading *reading, struct fields *fields)
{
	struct bp_profile *profile = reading->profile;
	struct bp_thread thread = { .process = process_of(fields, profile) };
	struct bp_thread_id id;
	const uint64_t number = (uint64_t)number_of(fields);
	thread.ordinal = (uint32_t)number_of(fields);
	thread.tid = (uint32_t)number_of(fields);
	thread.name = string_of(fields, profile);
	thread.bytes_allocated.low = amount_of(fields, INT64_MAX);
	thread.bytes_allocated.high = open_number_of(fields);
	thread.objects_allocated.low = amount_of(fields, INT64_MAX);
	thread.objects_allocated.high = open_number_of(fields);
	thread.lost = amount_of(fields, INT64_MAX);
	if (!fields->failed &&
		!(is_total(thread.bytes_allocated) && is_total(thread.objects_allocated)))
		return wrong_value(fields);
	return !fields->failed && bp_profile_add_thread(profile, &thread, &id, fields->error) &&
	       add(&reading->threads, (uint64_t)thread.process.i << 32 | (uint32_t)number, id.i,
		       fields->error);
}

static bool add_reading(struct reading *reading, struct bp_reading *of, const uint64_t counters[2],
	struct bp_error *error)
{
	of->bytes = counters[0];
	of->objects = counters[1];
	return bp_profile_add_reading(reading->profile, of, error);
}

/* What a thread had allocated by a moment: two readings, one just before it and one at it. */
static bool take_reading(struct reading *reading, struct fields *fields)
{
	const struct bp_process_id process = process_of(fields, reading->profile);
	struct bp_reading of = { .bound = BP_READING_AT_LEAST };
	uint64_t least[2] = { 0 }, most[2] = { 0 };
	of.thread.i =
		find(&reading->threads, (uint64_t)process.i << 32 | (uint32_t)number_of(fields));
	const uint64_t edge_ns = amount_of(fields, TIME_MOST);
	for (int i = 0; i < 2; i++) {
		least[i] = (uint64_t)value_of(fields).number; /* (none: 0) */
		most[i] = open_number_of(fields);
	}
	if (fields->failed)
		return false;
	if (least[0] > INT64_MAX || least[1] > INT64_MAX)
		return wrong_value(fields);
	if (of.thread.i == 0)
		return true;
	of.time_ns = edge_ns - (edge_ns > 0);
	if (!add_reading(reading, &of, least, fields->error))
		return false;
	of.bound = BP_READING_AT_MOST;
	of.time_ns = edge_ns;
	return add_reading(reading, &of, most, fields->error);
}

static bool take_interval(struct reading *reading, struct fields *fields)
{
	struct bp_interval_used used = { .process = process_of(fields, reading->profile) };
	used.interval = amount_of(fields, SIZE_MOST);
	used.trials = open_number_of(fields);
	return !fields->failed && bp_profile_add_interval(reading->profile, &used, fields->error);
}

static bool take_pause(struct reading *reading, struct fields *fields)
{
	struct bp_pause pause = { .process = process_of(fields, reading->profile) };
	const uint64_t start_ns = reading->profile->processes.data[pause.process.i].start_time_ns;
	pause.from_ns = start_ns + (uint64_t)number_of(fields);
	const struct bp_parquet_value to = value_of(fields);
	pause.to_ns = to.null ? BP_TIME_NEVER : start_ns + (uint64_t)to.number;
	const bool outage = number_of(fields) != 0;
	return !fields->failed && (outage ? bp_profile_add_outage : bp_profile_add_pause)(
					  reading->profile, &pause, fields->error);
}

static bool take_frame(struct reading *reading, struct fields *fields)
{
	struct bp_profile *profile = reading->profile;
	struct bp_frame frame = { .line = 0 };
	struct bp_module module = { .start = 0 };
	struct bp_location_id location;
	const uint64_t id = (uint64_t)number_of(fields);
	frame.function = string_of(fields, profile);
	frame.system_name = string_of(fields, profile);
	frame.source_file = string_of(fields, profile);
	frame.line = (uint32_t)number_of(fields);
	module.path = string_of(fields, profile);
	module.build_id = string_of(fields, profile);
	number_of(fields); /* the address */
	frame.named = number_of(fields) != 0;
	frame.inlined = number_of(fields) != 0;
	frame.interpreted = number_of(fields) != 0;
	if (fields->failed)
		return false;
	if (*bp_profile_text(profile, module.path) != '\0' &&
		!bp_profile_add_module(profile, &module, &frame.module, fields->error))
		return false;
	return bp_profile_add_location(profile, frame.module, id, true, &location, fields->error) &&
	       bp_profile_set_frames(profile, location, &frame, 1, fields->error) &&
	       add(&reading->locations, id, location.i, fields->error);
}

/* All frames of a stack have come. */
static bool close_stack(struct reading *reading, struct bp_error *error)
{
	struct bp_stack_id id;
	if (!reading->open)
		return true;
	reading->open = false;
	return bp_profile_add_stack(reading->profile, reading->places, reading->depth,
		       reading->flags, &id, error) &&
	       add(&reading->stacks, reading->stack, id.i, error);
}

static bool take_stack(struct reading *reading, struct fields *fields)
{
	const uint64_t id = (uint64_t)number_of(fields);
	number_of(fields); /* the position: they come in its order */
	const uint64_t frame = (uint64_t)number_of(fields);
	const uint8_t flags = (uint8_t)number_of(fields);
	if (fields->failed ||
		(reading->open && id != reading->stack && !close_stack(reading, fields->error)))
		return false;
	if (!reading->open) {
		reading->open = true;
		reading->stack = id;
		reading->flags = flags;
		reading->depth = 0;
	}
	if (!bp_vec_reserve(&reading->places, &reading->place_capacity, reading->depth + 1u,
		    sizeof *reading->places))
		return no_memory(fields->error);
	reading->places[reading->depth++].i = find(&reading->locations, frame);
	return true;
}

/* The number of a kind by its name. */
static uint32_t kind_of(const struct bp_profile *profile, const char *name)
{
	for (uint32_t i = 0; i < 16; i++)
		if (strcmp(bp_type_name(profile, i), name) == 0)
			return i;
	return 0;
}

/* As entries that stand for as many samples as one can. */
static bool add_samples(
	struct reading *reading, struct bp_sample *sample, uint64_t count, struct bp_error *error)
{
	while (count > 0) {
		const uint64_t part = count < SAMPLES_PER_ENTRY ? count : SAMPLES_PER_ENTRY;
		sample->more = (uint32_t)(part - 1) & (SAMPLES_PER_ENTRY - 1);
		sample->sequence = ++reading->sequence;
		sample->free_sequence =
			sample->free_time_ns == BP_TIME_NEVER ? BP_TIME_NEVER : ++reading->sequence;
		if (!bp_profile_add_sample(reading->profile, sample, error))
			return false;
		count -= part;
	}
	return true;
}

static bool take_sample(struct reading *reading, struct fields *fields)
{
	struct bp_profile *profile = reading->profile;
	struct bp_sample sample = { .process = process_of(fields, profile) };
	sample.thread.i = find(
		&reading->threads, (uint64_t)sample.process.i << 32 | (uint32_t)number_of(fields));
	const uint64_t start_ns = profile->processes.data[sample.process.i].start_time_ns;
	sample.time_ns = start_ns + amount_of(fields, TIME_MOST);
	const struct bp_parquet_value end = value_of(fields);
	sample.free_time_ns = end.null ? BP_TIME_NEVER : start_ns + (uint64_t)end.number;
	sample.temporary = number_of(fields) != 0;
	sample.size = amount_of(fields, SIZE_MOST);
	sample.usable = amount_of(fields, SIZE_MOST);
	sample.interval = amount_of(fields, SIZE_MOST);
	sample.exact = number_of(fields) != 0;
	sample.bernoulli = number_of(fields) != 0;
	sample.kind = kind_of(profile, text_of(fields)) & 15;
	const char *type = text_of(fields), *labels = text_of(fields);
	sample.stack.i = find(&reading->stacks, (uint64_t)number_of(fields));
	const uint64_t count = amount_of(fields, SAMPLES_MOST);
	if (fields->failed ||
		(*type != '\0' && !bp_profile_add_named_type(profile, type, strlen(type),
					  &sample.type, fields->error)) ||
		!bp_profile_add_labels(
			profile, labels, strlen(labels), &sample.labels, fields->error))
		return false;
	return add_samples(reading, &sample, count, fields->error);
}

static bool take_row(void *context, struct bp_duckdb_row *row, struct bp_error *error)
{
	struct reading *reading = context;
	struct fields fields = { .row = row, .next = 1, .error = error };
	switch (row->fields[0][0]) {
	case BP_ROW_DUPLICATE:
		return bp_error_set(error,
			"process %.32s is in the store twice: remove one of the folders that hold it",
			text_of(&fields));
	case BP_ROW_LEFT_OUT:
		reading->left_out = (uint32_t)amount_of(&fields, UINT32_MAX);
		return !fields.failed;
	case BP_ROW_SUMMED:
		return amount_of(&fields, UINT32_MAX) == 0
			       ? !fields.failed
			       : bp_error_set(error,
					 "%s of these runs are sums that `bytepoll compact` made, without "
					 "times: ask about whole runs, or about later ones by --since",
					 row->fields[1]);
	case BP_ROW_PROCESS:
		return take_process(reading, &fields);
	case BP_ROW_THREAD:
		return take_thread(reading, &fields);
	case BP_ROW_READING:
		return take_reading(reading, &fields);
	case BP_ROW_INTERVAL:
		return take_interval(reading, &fields);
	case BP_ROW_PAUSE:
		return take_pause(reading, &fields);
	case BP_ROW_FRAME:
		return take_frame(reading, &fields);
	case BP_ROW_STACK:
		return take_stack(reading, &fields);
	case BP_ROW_SAMPLE:
		return close_stack(reading, error) && take_sample(reading, &fields);
	default:
		return bp_error_set(error, "the engine: its answer is not what was asked for");
	}
}

/* ---- questions ---- */

static bool nothing_passes(struct bp_error *error)
{
	return bp_error_set(error, "no recording in the store is meant: see --service, --release, "
				   "--host, --tag, --since and --before");
}

static bool nothing_is_left(uint32_t left_out, struct bp_error *error)
{
	return left_out == 0 ? nothing_passes(error)
			     : bp_error_set(error,
				       "none of the %u runs was recorded at both moments: choose "
				       "others by --from and --until",
				       left_out);
}

bool bp_fleet_read(const struct bp_store *store, const struct bp_fleet_filter *filter,
	struct bp_fleet_detail detail, struct bp_profile *ret_profile, struct bp_error *error)
{
	struct bp_profile profile = { 0 };
	struct reading reading = { .profile = &profile };
	FILE *script;
	if (filter->times.window && !bp_store_has_table(store, BP_TABLE_READING, error))
		return false;
	if (!bp_profile_init(&profile, error))
		return false;
	profile.keep_readings = filter->times.window;
	struct bp_store sums = { .count = 0 };
	bool good = bp_store_sums(store, &sums, error) && bp_duckdb_script(&script, error);
	if (good) {
		bp_fleet_write_question(store, &sums, filter, detail, script);
		good = bp_engine_run(store, script, take_row, &reading, error) &&
		       close_stack(&reading, error);
	}
	good = good && (profile.processes.count > 1 || nothing_is_left(reading.left_out, error)) &&
	       bp_profile_finish_import(&profile, true, error);
	free(sums.folders);
	finish_numbers(&reading.locations);
	finish_numbers(&reading.stacks);
	finish_numbers(&reading.threads);
	free(reading.places);
	if (!good) {
		bp_profile_finish(&profile);
		return false;
	}
	profile.merged_unrelated = true; /* also of one run: its times are not here */
	*ret_profile = profile;
	if (filter->moments != NULL)
		filter->moments->left_out = reading.left_out;
	return true;
}

struct listing {
	struct bp_fleet_hosts hosts;
	uint32_t left_out;
};

static bool take_host(void *context, struct bp_duckdb_row *row, struct bp_error *error)
{
	struct listing *listing = context;
	struct bp_fleet_hosts *hosts = &listing->hosts;
	struct bp_parquet_value name;
	if (row->fields[0][0] == BP_ROW_LEFT_OUT) {
		const bool good = bp_duckdb_number(row, 1, &name, error);
		listing->left_out = good ? (uint32_t)name.number : 0;
		return good;
	}
	if (!bp_duckdb_text(row, 2, &name, error))
		return false;
	if (!bp_vec_reserve(
		    &hosts->names, &hosts->capacity, hosts->count + 1u, sizeof *hosts->names) ||
		(hosts->names[hosts->count] = strdup(name.text)) == NULL)
		return no_memory(error);
	hosts->count++;
	return true;
}

void bp_fleet_hosts_finish(struct bp_fleet_hosts *hosts)
{
	for (uint32_t i = 0; i < hosts->count; i++)
		free(hosts->names[i]);
	free(hosts->names);
	*hosts = (struct bp_fleet_hosts){ .count = 0 };
}

bool bp_fleet_list_hosts(const struct bp_store *store, const struct bp_fleet_filter *filter,
	struct bp_fleet_hosts *ret_hosts, struct bp_error *error)
{
	struct listing listing = { .left_out = 0 };
	FILE *script;
	if (!bp_duckdb_script(&script, error))
		return false;
	bp_fleet_write_hosts(store, filter, script);
	if (bp_engine_run(store, script, take_host, &listing, error) &&
		(listing.hosts.count > 0 || nothing_is_left(listing.left_out, error))) {
		*ret_hosts = listing.hosts;
		if (filter->moments != NULL)
			filter->moments->left_out = listing.left_out;
		return true;
	}
	bp_fleet_hosts_finish(&listing.hosts);
	return false;
}
