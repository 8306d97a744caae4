/* SPDX-License-Identifier: MIT */
/*
 * The Firefox Profiler's processed format (https://github.com/firefox-devtools/profiler,
 * docs-developer/processed-profile-format.md), version 60, which the profiler goes on reading whatever
 * its own version is. A process is a "thread" of the format with a table of native allocations: when,
 * how many bytes, which stack.
 *
 * For metric live the table is balanced: each sampled object stands there when it was allocated with what
 * it stands for, and when it was freed with as much less, so that the profiler's view of retained
 * memory is ours of what is live, at any moment that one selects. These weights are
 * Horvitz-Thompson's. For other metrics, and where the file does not tell of frees, the table has what
 * the metric counts and nothing is freed. "Addresses" are numbers of samples: what pairs the two events.
 *
 * Tables are shared by all processes: strings, functions, frames, stacks (a tree in which every node names
 * its parent).
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/path.h"
#include "profile/entries.h"
#include "profile/id_index.h"
#include "report/escape.h"
#include "report/export.h"
#include "report/function_table.h"

#define FORMAT_VERSION 60
#define GECKO_VERSION 31 /* of Firefox's own format at that time */
#define NONE UINT32_MAX

struct node {
	uint32_t prefix, frame; /* prefix: NONE at a root */
};

struct event {
	uint64_t time_ns;
	int64_t weight;
	uint32_t node, number, process, tid;
};

struct firefox {
	const struct bp_aggregation *aggregation;
	const struct bp_profile *profile;
	struct bp_entries entries;
	struct bp_function_table functions;
	bool balanced;
	uint32_t *number_of_frame; /* by frame id; NONE: not met */
	struct bp_frame_id *frames;
	const struct bp_location **places; /* where each is */
	uint32_t frame_count;
	struct node *nodes;
	uint32_t node_count, node_capacity;
	struct bp_id_index node_index;
	uint32_t *node_of_stack; /* by stack id; NONE: not met */
	struct event *events;
	uint32_t event_count, event_capacity;
	uint32_t samples;
	struct bp_rounding freed, kept; /* apart, so that what is kept adds up by itself */
	FILE *out;
};

/* ---- tables ---- */

static bool node_of(struct firefox *to, uint32_t prefix, uint32_t frame, uint32_t *ret_node)
{
	uint64_t hash = bp_hash_word(prefix, frame);
	uint32_t folded = bp_hash_fold(hash), position = folded, number;
	while ((number = bp_id_index_next(&to->node_index, folded, &position)) != 0) {
		const struct node *node = &to->nodes[number - 1];
		if (node->prefix != prefix || node->frame != frame)
			continue;
		*ret_node = number - 1;
		return true;
	}
	if (!bp_vec_reserve(
		    &to->nodes, &to->node_capacity, to->node_count + 1ull, sizeof *to->nodes) ||
		!bp_id_index_reserve(&to->node_index))
		return false;
	bp_id_index_add(&to->node_index, folded, to->node_count + 1);
	to->nodes[to->node_count] = (struct node){ prefix, frame };
	*ret_node = to->node_count++;
	return true;
}

static uint32_t frame_number(
	struct firefox *to, struct bp_frame_id frame, const struct bp_location *place)
{
	uint32_t *number = &to->number_of_frame[frame.i];
	if (*number == NONE) {
		to->frames[to->frame_count] = frame;
		to->places[to->frame_count] = place;
		*number = to->frame_count++;
	}
	return *number;
}

/* The node of a stack, made when first asked for. Frames go from the outermost location on. */
static bool stack_node(struct firefox *to, struct bp_stack_id id, uint32_t *ret_node)
{
	const struct bp_profile *profile = to->profile;
	const struct bp_stack *stack = &profile->stacks.data[id.i];
	uint32_t node = NONE;
	if (to->node_of_stack[id.i] != NONE) {
		*ret_node = to->node_of_stack[id.i];
		return true;
	}
	for (uint32_t i = stack->depth; i-- > 0;) {
		uint32_t number = profile->stack_locations.data[stack->first_location + i].i;
		const struct bp_location *place = &profile->locations.data[number];
		for (uint32_t j = place->frame_count; j-- > 0;) {
			struct bp_frame_id frame = { place->first_frame.i + j };
			if (to->functions.of_frame[frame.i] == NONE)
				continue; /* on no stack as the report has it */
			if (!node_of(to, node, frame_number(to, frame, place), &node))
				return false;
		}
	}
	if (node == NONE) { /* frame 0 is for what has no stack */
		struct bp_frame_id nothing = { 0 };
		if (!node_of(to, NONE, frame_number(to, nothing, NULL), &node))
			return false;
	}
	to->node_of_stack[id.i] = *ret_node = node;
	return true;
}

static bool add_event(struct firefox *to, struct event event)
{
	if (!bp_vec_reserve(
		    &to->events, &to->event_capacity, to->event_count + 1ull, sizeof *to->events))
		return false;
	to->events[to->event_count++] = event;
	return true;
}

static bool take(void *context, const struct bp_weighted_sample *weighted)
{
	struct firefox *to = context;
	const struct bp_sample *sample = weighted->sample;
	struct event event = { .time_ns = weighted->birth_ns,
		.number = ++to->samples,
		.process = sample->process.i,
		.tid = to->profile->threads.data[sample->thread.i].tid };
	bool kept = weighted->death_ns == BP_TIME_NEVER;
	event.weight = bp_round_next(kept ? &to->kept : &to->freed, weighted->bytes);
	if (event.weight == 0)
		return true;
	if (!stack_node(to, sample->stack, &event.node) || !add_event(to, event))
		return false;
	if (!to->balanced || kept)
		return true;
	event.time_ns = weighted->death_ns;
	event.weight = -event.weight;
	return add_event(to, event);
}

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->weight > b->weight ? -1 : a->weight < b->weight;
}

/* ---- output ---- */

typedef void value_writer(const struct firefox *to, uint32_t i);

static void write_column(
	const struct firefox *to, const char *name, uint32_t count, value_writer *value)
{
	fprintf(to->out, "\"%s\":[", name);
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0)
			putc(',', to->out);
		value(to, i);
	}
	fputs("],\n", to->out);
}

static void value_null(const struct firefox *to, uint32_t i)
{
	(void)i;
	fputs("null", to->out);
}

static void value_zero(const struct firefox *to, uint32_t i)
{
	(void)i;
	putc('0', to->out);
}

static void value_false(const struct firefox *to, uint32_t i)
{
	(void)i;
	fputs("false", to->out);
}

static void value_index(const struct firefox *to, uint32_t i)
{
	fprintf(to->out, "%u", i);
}

static const struct bp_frame *frame_of(const struct firefox *to, uint32_t i)
{
	return &to->profile->frames.data[to->frames[i].i];
}

static void frame_address(const struct firefox *to, uint32_t i)
{
	const struct bp_location *place = to->places[i];
	if (place == NULL || place->address >> 63 != 0 || place->address == 0)
		fputs("-1", to->out);
	else
		fprintf(to->out, "%llu",
			(unsigned long long)(place->address - (place->exact ? 0 : 1)));
}

/* The outermost frame of a place has depth 0. */
static void frame_depth(const struct firefox *to, uint32_t i)
{
	const struct bp_location *place = to->places[i];
	fprintf(to->out, "%u",
		place == NULL ? 0
			      : place->first_frame.i + place->frame_count - 1 - to->frames[i].i);
}

/* Function 0 is for what has no stack. */
static void frame_function(const struct firefox *to, uint32_t i)
{
	fprintf(to->out, "%u",
		to->places[i] == NULL ? 0 : to->functions.of_frame[to->frames[i].i] + 1);
}

static void frame_line(const struct firefox *to, uint32_t i)
{
	if (frame_of(to, i)->line == 0)
		fputs("null", to->out);
	else
		fprintf(to->out, "%u", frame_of(to, i)->line);
}

static void write_frames(const struct firefox *to)
{
	fputs("\"frameTable\":{", to->out);
	write_column(to, "address", to->frame_count, frame_address);
	write_column(to, "inlineDepth", to->frame_count, frame_depth);
	write_column(to, "category", to->frame_count, value_zero);
	write_column(to, "subcategory", to->frame_count, value_zero);
	write_column(to, "func", to->frame_count, frame_function);
	write_column(to, "nativeSymbol", to->frame_count, value_null);
	write_column(to, "innerWindowID", to->frame_count, value_zero);
	write_column(to, "line", to->frame_count, frame_line);
	write_column(to, "column", to->frame_count, value_null);
	fprintf(to->out, "\"length\":%u},\n", to->frame_count);
}

/* Strings are: functions' names from 1 on, their files behind them, then paths of modules; names and
 * files that are equal stand there several times, which does no harm. */
static uint32_t file_string(const struct firefox *to, uint32_t function)
{
	return to->functions.count + function;
}

static uint32_t module_string(const struct firefox *to, uint32_t module)
{
	return 2 * to->functions.count + 1 + module;
}

static void function_resource(const struct firefox *to, uint32_t i)
{
	const uint32_t module = i == 0 ? 0 : to->functions.items[i - 1].module.i;
	fprintf(to->out, "%d", (int)module - 1);
}

static void function_source(const struct firefox *to, uint32_t i)
{
	if (i == 0 || !to->functions.items[i - 1].has_file)
		fputs("null", to->out);
	else
		fprintf(to->out, "%u", i - 1);
}

static void source_name(const struct firefox *to, uint32_t i)
{
	fprintf(to->out, "%u", file_string(to, i + 1));
}

static void write_functions(const struct firefox *to)
{
	const uint32_t count = to->functions.count + 1;
	fputs("\"funcTable\":{", to->out);
	write_column(to, "name", count, value_index);
	write_column(to, "isJS", count, value_false);
	write_column(to, "relevantForJS", count, value_false);
	write_column(to, "resource", count, function_resource);
	write_column(to, "source", count, function_source);
	write_column(to, "lineNumber", count, value_null);
	write_column(to, "columnNumber", count, value_null);
	fprintf(to->out, "\"length\":%u},\n\"sources\":{", count);
	write_column(to, "uuid", to->functions.count, value_null);
	write_column(to, "filename", to->functions.count, source_name);
	fprintf(to->out, "\"length\":%u}", to->functions.count);
}

static void resource_name(const struct firefox *to, uint32_t i)
{
	fprintf(to->out, "%u", module_string(to, i));
}

static void resource_type(const struct firefox *to, uint32_t i)
{
	(void)i;
	putc('1', to->out); /* library */
}

/* Every module of the profile is a library and a resource of the same number. */
static void write_resources(const struct firefox *to)
{
	const uint32_t count = to->profile->modules.count - 1;
	fputs("\"resourceTable\":{", to->out);
	write_column(to, "lib", count, value_index);
	write_column(to, "name", count, resource_name);
	write_column(to, "host", count, value_null);
	write_column(to, "type", count, resource_type);
	fprintf(to->out, "\"length\":%u},\n", count);
	fputs("\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
	      "\"functionSize\":[],\"length\":0},\n",
		to->out);
}

static void node_frame(const struct firefox *to, uint32_t i)
{
	fprintf(to->out, "%u", to->nodes[i].frame);
}

static void node_prefix(const struct firefox *to, uint32_t i)
{
	if (to->nodes[i].prefix == NONE)
		fputs("null", to->out);
	else
		fprintf(to->out, "%u", to->nodes[i].prefix);
}

static void write_text(const struct firefox *to, const char *between, struct bp_string_id string)
{
	fputs(between, to->out);
	bp_write_json_string(to->out, bp_profile_text(to->profile, string));
}

static void write_shared(const struct firefox *to)
{
	fputs("\"shared\":{\"stringArray\":[\"" BP_EXPORT_NO_STACK "\"", to->out);
	for (uint32_t i = 0; i < to->functions.count; i++)
		write_text(to, ",\n", to->functions.items[i].name);
	for (uint32_t i = 0; i < to->functions.count; i++)
		write_text(to, ",\n", to->functions.items[i].file);
	for (uint32_t i = 1; i < to->profile->modules.count; i++)
		write_text(to, ",\n", to->profile->modules.data[i].path);
	fputs("],\n\"stackTable\":{", to->out);
	write_column(to, "frame", to->node_count, node_frame);
	write_column(to, "prefix", to->node_count, node_prefix);
	fprintf(to->out, "\"length\":%u},\n", to->node_count);
	write_resources(to);
	write_frames(to);
	write_functions(to);
	fputs("},\n", to->out);
}

static void write_libraries(const struct firefox *to)
{
	fputs("\"libs\":[", to->out);
	for (uint32_t i = 1; i < to->profile->modules.count; i++) {
		const struct bp_module *module = &to->profile->modules.data[i];
		const char *path = bp_profile_text(to->profile, module->path);
		fprintf(to->out, "%s{\"arch\":\"\",\"name\":", i > 1 ? ",\n" : "");
		bp_write_json_string(to->out, bp_last_part(path));
		fputs(",\"debugName\":", to->out);
		bp_write_json_string(to->out, bp_last_part(path));
		write_text(to, ",\"path\":", module->path);
		write_text(to, ",\"debugPath\":", module->path);
		fputs(",\"breakpadId\":\"\"", to->out);
		if (module->build_id.i != 0)
			write_text(to, ",\"codeId\":", module->build_id);
		else
			fputs(",\"codeId\":null", to->out);
		putc('}', to->out);
	}
	fputs("],\n", to->out);
}

static void event_time(const struct firefox *to, uint32_t i)
{
	fprintf(to->out, "%.6f", (double)to->events[i].time_ns / 1e6);
}

static void event_weight(const struct firefox *to, uint32_t i)
{
	fprintf(to->out, "%lld", (long long)to->events[i].weight);
}

static void event_node(const struct firefox *to, uint32_t i)
{
	fprintf(to->out, "%u", to->events[i].node);
}

static void event_number(const struct firefox *to, uint32_t i)
{
	fprintf(to->out, "%u", to->events[i].number);
}

static void event_thread(const struct firefox *to, uint32_t i)
{
	fprintf(to->out, "%u", to->events[i].tid);
}

static void write_event_column(const struct firefox *to, const char *name, uint32_t first,
	uint32_t end, value_writer *value)
{
	fprintf(to->out, "\"%s\":[", name);
	for (uint32_t i = first; i < end; i++) {
		if (i > first)
			putc(',', to->out);
		value(to, i);
	}
	fputs("],\n", to->out);
}

static void write_allocations(const struct firefox *to, uint32_t first, uint32_t end)
{
	fputs("\"nativeAllocations\":{", to->out);
	write_event_column(to, "time", first, end, event_time);
	write_event_column(to, "weight", first, end, event_weight);
	write_event_column(to, "stack", first, end, event_node);
	if (to->balanced) {
		write_event_column(to, "memoryAddress", first, end, event_number);
		write_event_column(to, "threadId", first, end, event_thread);
	}
	fprintf(to->out, "\"weightType\":\"bytes\",\"length\":%u},\n", end - first);
}

/* The profiler wants a sample of each thread; one without a stack costs nothing. Its number must be its
 * own, and images of one process share theirs: the number in the profile is taken. */
static void write_process(
	const struct firefox *to, const struct bp_process *process, uint32_t first, uint32_t end)
{
	const struct bp_process *root = &to->profile->processes.data[to->profile->root.i];
	const double start_ms =
		process->start_time_ns > root->start_time_ns
			? (double)(process->start_time_ns - root->start_time_ns) / 1e6
			: 0;
	fprintf(to->out,
		"{\"processType\":\"default\",\"processStartupTime\":%.6f,"
		"\"processShutdownTime\":null,\"registerTime\":%.6f,\"unregisterTime\":null,\n"
		"\"pausedRanges\":[],\"isMainThread\":true,\"pid\":\"%u.%u\",\"tid\":%u,\"name\":",
		start_ms, start_ms, process->pid, process->exec_number,
		(unsigned)(process - to->profile->processes.data));
	bp_write_json_string(to->out, bp_process_name(to->profile, process));
	write_text(to, ",\"processName\":", process->command_line);
	fprintf(to->out,
		",\n\"samples\":{\"stack\":[null],\"time\":[%.6f],\"eventDelay\":[null],"
		"\"weight\":null,\"weightType\":\"samples\",\"length\":1},\n",
		start_ms);
	write_allocations(to, first, end);
	fputs("\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
	      "\"phase\":[],\"category\":[],\"length\":0}}",
		to->out);
}

/* Processes without an event are left out, but for the first, so that there is a thread at all. */
static void write_processes(const struct firefox *to)
{
	bool any = false;
	fputs("\"threads\":[", to->out);
	for (uint32_t first = 0, end; first < to->event_count; first = end) {
		const uint32_t process = to->events[first].process;
		for (end = first; end < to->event_count && to->events[end].process == process;)
			end++;
		fputs(any ? ",\n" : "", to->out);
		write_process(to, &to->profile->processes.data[process], first, end);
		any = true;
	}
	if (!any)
		write_process(to, &to->profile->processes.data[to->aggregation->subject.i], 0, 0);
	fputs("],\n", to->out);
}

static void write_meta(const struct firefox *to)
{
	const struct bp_process *root = &to->profile->processes.data[to->profile->root.i];
	char line[BP_EXPORT_LINE_BYTES];
	fprintf(to->out,
		"{\"meta\":{\"interval\":1,\"startTime\":%.3f,\"endTime\":%.6f,\"processType\":0,"
		"\"stackwalk\":1,\"debug\":false,\"version\":%d,"
		"\"preprocessedProfileVersion\":%d,\"symbolicated\":true,\n"
		"\"importedFrom\":\"bytepoll " BP_VERSION "\",\"sourceCodeIsNotOnSearchfox\":true,"
		"\"markerSchema\":[],\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		"\"threadCPUDelta\":\"ns\"},\n\"categories\":[{\"name\":\"Other\","
		"\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\n\"product\":",
		(double)root->start_real_ns / 1e6, (double)to->aggregation->duration_ns / 1e6,
		GECKO_VERSION, FORMAT_VERSION);
	bp_write_json_string(to->out, bp_process_name(to->profile, root));
	write_text(to, ",\"arguments\":", root->command_line);
	fputs(",\"misc\":", to->out);
	bp_export_total_line(to->aggregation, to->aggregation->query.metric, line);
	bp_write_json_string(to->out, line);
	fputs("},\n", to->out);
}

static bool allocate(struct firefox *to)
{
	const size_t frames = (size_t)to->profile->frames.count + 1;
	const size_t stacks = (size_t)to->profile->stacks.count + 1;
	to->number_of_frame = malloc(frames * sizeof *to->number_of_frame);
	to->frames = calloc(frames, sizeof *to->frames);
	to->places = calloc(frames, sizeof *to->places);
	to->node_of_stack = malloc(stacks * sizeof *to->node_of_stack);
	if (to->number_of_frame == NULL || to->frames == NULL || to->places == NULL ||
		to->node_of_stack == NULL)
		return false;
	memset(to->number_of_frame, 0xff, frames * sizeof *to->number_of_frame);
	memset(to->node_of_stack, 0xff, stacks * sizeof *to->node_of_stack);
	return true;
}

static bool write_all(struct firefox *to)
{
	if (!allocate(to) || !bp_each_weighted_sample(to->aggregation, to->balanced, take, to))
		return false;
	if (to->event_count > 0)
		qsort(to->events, to->event_count, sizeof *to->events, compare_events);
	write_meta(to);
	write_libraries(to);
	write_shared(to);
	write_processes(to);
	fputs("\"pages\":[]}\n", to->out);
	return true;
}

static bool write_firefox(const struct bp_export_source *source, FILE *out, struct bp_error *error)
{
	struct firefox to = { .aggregation = source->asked,
		.profile = source->profile,
		.balanced = source->asked->query.metric == BP_METRIC_LIVE,
		.out = out };
	const struct bp_aggregation *all = source->metrics[BP_METRIC_ALLOCATED] != NULL
						   ? source->metrics[BP_METRIC_ALLOCATED]
						   : source->asked;
	const struct bp_aggregation *both[] = { source->asked, all };
	bool good = bp_entries_build(both, 2, (struct bp_entry_options){ 0 }, &to.entries, error);
	good = good && bp_function_table_init(&to.functions, to.aggregation, &to.entries, error);
	if (good)
		good = write_all(&to) || bp_error_set(error, "out of memory");
	free(to.number_of_frame);
	free(to.frames);
	free(to.places);
	free(to.node_of_stack);
	free(to.nodes);
	free(to.events);
	bp_id_index_finish(&to.node_index);
	bp_function_table_finish(&to.functions);
	bp_entries_finish(&to.entries);
	return good;
}

const struct bp_export bp_export_firefox = { .name = "firefox",
	.description = "JSON for profiler.firefox.com: allocations over time",
	.metrics = BP_METRIC_BIT(BP_METRIC_ALLOCATED),
	.write = write_firefox };
