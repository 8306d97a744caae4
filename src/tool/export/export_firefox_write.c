/* SPDX-License-Identifier: MIT */
/* The processed format of the Firefox Profiler, written from what export_firefox.c gathered; see
 * there. */
#include "base/path.h"
#include "export/export_firefox.h"

#define FORMAT_VERSION 60
#define GECKO_VERSION 31  /* of Firefox's own format at that time */
#define NOTHING INT64_MIN /* in a column: null */

/* The value of a column in row i; NOTHING is null. */
typedef int64_t column_value(const struct bp_firefox *to, uint32_t i);

static void write_column(struct bp_firefox *to, const char *name, uint32_t first, uint32_t end,
	column_value *value_of)
{
	bp_json_array(&to->json, name, BP_JSON_COMPACT);
	for (uint32_t i = first; i < end; i++) {
		const int64_t value = value_of(to, i);
		if (value == NOTHING)
			bp_json_null(&to->json, NULL);
		else
			bp_json_signed(&to->json, NULL, value);
	}
	bp_json_end(&to->json);
}

static void write_false_column(struct bp_firefox *to, const char *name, uint32_t count)
{
	bp_json_array(&to->json, name, BP_JSON_COMPACT);
	for (uint32_t i = 0; i < count; i++)
		bp_json_bool(&to->json, NULL, false);
	bp_json_end(&to->json);
}

/* A table that nothing stands in. */
static void write_empty(struct bp_firefox *to, const char *name, const char *const *columns)
{
	bp_json_object(&to->json, name, BP_JSON_COMPACT);
	for (; *columns != NULL; columns++) {
		bp_json_array(&to->json, *columns, BP_JSON_COMPACT);
		bp_json_end(&to->json);
	}
	bp_json_whole(&to->json, "length", 0);
	bp_json_end(&to->json);
}

static void end_table(struct bp_firefox *to, uint32_t count)
{
	bp_json_whole(&to->json, "length", count);
	bp_json_end(&to->json);
}

static int64_t value_nothing(const struct bp_firefox *to, uint32_t i)
{
	(void)to;
	(void)i;
	return NOTHING;
}

static int64_t value_zero(const struct bp_firefox *to, uint32_t i)
{
	(void)to;
	(void)i;
	return 0;
}

static int64_t value_index(const struct bp_firefox *to, uint32_t i)
{
	(void)to;
	return i;
}

static const struct bp_frame *frame_of(const struct bp_firefox *to, uint32_t i)
{
	return &to->profile->frames.data[to->frames[i].i];
}

static int64_t frame_address(const struct bp_firefox *to, uint32_t i)
{
	const struct bp_location *place = to->places[i];
	if (place == NULL || place->address >> 63 != 0 || place->address == 0)
		return -1;
	return (int64_t)(place->address - (place->exact ? 0 : 1));
}

/* The outermost frame of a place has depth 0. */
static int64_t frame_depth(const struct bp_firefox *to, uint32_t i)
{
	const struct bp_location *place = to->places[i];
	return place == NULL ? 0 : place->first_frame.i + place->frame_count - 1 - to->frames[i].i;
}

/* Function 0 is for what has no stack. */
static int64_t frame_function(const struct bp_firefox *to, uint32_t i)
{
	return to->places[i] == NULL ? 0 : to->functions.of_frame[to->frames[i].i] + 1;
}

static int64_t frame_line(const struct bp_firefox *to, uint32_t i)
{
	const uint32_t line = frame_of(to, i)->line;
	return line == 0 ? NOTHING : line;
}

static void write_frames(struct bp_firefox *to)
{
	const uint32_t count = to->frame_count;
	bp_json_object(&to->json, "frameTable", BP_JSON_ROWS);
	write_column(to, "address", 0, count, frame_address);
	write_column(to, "inlineDepth", 0, count, frame_depth);
	write_column(to, "category", 0, count, value_zero);
	write_column(to, "subcategory", 0, count, value_zero);
	write_column(to, "func", 0, count, frame_function);
	write_column(to, "nativeSymbol", 0, count, value_nothing);
	write_column(to, "innerWindowID", 0, count, value_zero);
	write_column(to, "line", 0, count, frame_line);
	write_column(to, "column", 0, count, value_nothing);
	end_table(to, count);
}

/* Strings are: functions' names from 1 on, their files behind them, then paths of modules; names
 * and files that are equal stand there several times, which does no harm. */
static uint32_t file_string(const struct bp_firefox *to, uint32_t function)
{
	return to->functions.count + function;
}

static int64_t module_string(const struct bp_firefox *to, uint32_t module)
{
	return 2 * to->functions.count + 1 + module;
}

static int64_t function_resource(const struct bp_firefox *to, uint32_t i)
{
	const uint32_t module = i == 0 ? 0 : to->functions.items[i - 1].module.i;
	return (int64_t)module - 1;
}

static int64_t function_source(const struct bp_firefox *to, uint32_t i)
{
	return i == 0 || !to->functions.items[i - 1].has_file ? NOTHING : i - 1;
}

static int64_t source_name(const struct bp_firefox *to, uint32_t i)
{
	return file_string(to, i + 1);
}

static void write_functions(struct bp_firefox *to)
{
	const uint32_t count = to->functions.count + 1;
	bp_json_object(&to->json, "funcTable", BP_JSON_ROWS);
	write_column(to, "name", 0, count, value_index);
	write_false_column(to, "isJS", count);
	write_false_column(to, "relevantForJS", count);
	write_column(to, "resource", 0, count, function_resource);
	write_column(to, "source", 0, count, function_source);
	write_column(to, "lineNumber", 0, count, value_nothing);
	write_column(to, "columnNumber", 0, count, value_nothing);
	end_table(to, count);
	bp_json_object(&to->json, "sources", BP_JSON_ROWS);
	write_column(to, "uuid", 0, count - 1, value_nothing);
	write_column(to, "filename", 0, count - 1, source_name);
	end_table(to, count - 1);
}

static int64_t resource_type(const struct bp_firefox *to, uint32_t i)
{
	(void)to;
	(void)i;
	return 1; /* library */
}

/* Every module of the profile is a library and a resource of the same number. */
static void write_resources(struct bp_firefox *to)
{
	static const char *const no_symbols[] = { "libIndex", "address", "name", "functionSize",
		NULL };
	const uint32_t count = to->profile->modules.count - 1;
	bp_json_object(&to->json, "resourceTable", BP_JSON_ROWS);
	write_column(to, "lib", 0, count, value_index);
	write_column(to, "name", 0, count, module_string);
	write_column(to, "host", 0, count, value_nothing);
	write_column(to, "type", 0, count, resource_type);
	end_table(to, count);
	write_empty(to, "nativeSymbols", no_symbols);
}

static int64_t node_frame(const struct bp_firefox *to, uint32_t i)
{
	return to->nodes[i].frame;
}

static int64_t node_prefix(const struct bp_firefox *to, uint32_t i)
{
	return to->nodes[i].prefix == BP_FIREFOX_NONE ? NOTHING : to->nodes[i].prefix;
}

static void write_name(struct bp_firefox *to, const char *key, struct bp_string_id string)
{
	bp_json_text(&to->json, key, bp_profile_text(to->profile, string));
}

static void write_strings(struct bp_firefox *to)
{
	bp_json_array(&to->json, "stringArray", BP_JSON_ROWS);
	bp_json_text(&to->json, NULL, BP_EXPORT_NO_STACK);
	for (uint32_t i = 0; i < to->functions.count; i++)
		write_name(to, NULL, to->functions.items[i].name);
	for (uint32_t i = 0; i < to->functions.count; i++)
		write_name(to, NULL, to->functions.items[i].file);
	for (uint32_t i = 1; i < to->profile->modules.count; i++)
		write_name(to, NULL, to->profile->modules.data[i].path);
	bp_json_end(&to->json);
}

static void write_shared(struct bp_firefox *to)
{
	bp_json_object(&to->json, "shared", BP_JSON_ROWS);
	write_strings(to);
	bp_json_object(&to->json, "stackTable", BP_JSON_ROWS);
	write_column(to, "frame", 0, to->node_count, node_frame);
	write_column(to, "prefix", 0, to->node_count, node_prefix);
	end_table(to, to->node_count);
	write_resources(to);
	write_frames(to);
	write_functions(to);
	bp_json_end(&to->json);
}

static void write_libraries(struct bp_firefox *to)
{
	struct bp_json *json = &to->json;
	bp_json_array(json, "libs", BP_JSON_ROWS);
	for (uint32_t i = 1; i < to->profile->modules.count; i++) {
		const struct bp_module *module = &to->profile->modules.data[i];
		const char *path = bp_profile_text(to->profile, module->path);
		bp_json_object(json, NULL, BP_JSON_COMPACT);
		bp_json_text(json, "arch", "");
		bp_json_text(json, "name", bp_last_part(path));
		bp_json_text(json, "debugName", bp_last_part(path));
		bp_json_text(json, "path", path);
		bp_json_text(json, "debugPath", path);
		bp_json_text(json, "breakpadId", "");
		if (module->build_id.i != 0)
			write_name(to, "codeId", module->build_id);
		else
			bp_json_null(json, "codeId");
		bp_json_end(json);
	}
	bp_json_end(json);
}

static int64_t event_weight(const struct bp_firefox *to, uint32_t i)
{
	return to->events[i].weight;
}

static int64_t event_node(const struct bp_firefox *to, uint32_t i)
{
	return to->events[i].node;
}

static int64_t event_number(const struct bp_firefox *to, uint32_t i)
{
	return to->events[i].number;
}

static int64_t event_thread(const struct bp_firefox *to, uint32_t i)
{
	return to->events[i].tid;
}

static void write_allocations(struct bp_firefox *to, uint32_t first, uint32_t end)
{
	struct bp_json *json = &to->json;
	bp_json_object(json, "nativeAllocations", BP_JSON_COMPACT);
	bp_json_array(json, "time", BP_JSON_COMPACT);
	for (uint32_t i = first; i < end; i++)
		bp_json_fixed(json, NULL, (double)to->events[i].time_ns / 1e6, 6);
	bp_json_end(json);
	bp_json_break(json, 0);
	write_column(to, "weight", first, end, event_weight);
	bp_json_break(json, 0);
	write_column(to, "stack", first, end, event_node);
	bp_json_break(json, 0);
	if (to->balanced) {
		write_column(to, "memoryAddress", first, end, event_number);
		bp_json_break(json, 0);
		write_column(to, "threadId", first, end, event_thread);
		bp_json_break(json, 0);
	}
	bp_json_text(json, "weightType", "bytes");
	end_table(to, end - first);
}

/* The profiler wants a sample of each thread; one without a stack costs nothing. */
static void write_sample(struct bp_json *json, double start_ms)
{
	bp_json_object(json, "samples", BP_JSON_COMPACT);
	bp_json_array(json, "stack", BP_JSON_COMPACT);
	bp_json_null(json, NULL);
	bp_json_end(json);
	bp_json_array(json, "time", BP_JSON_COMPACT);
	bp_json_fixed(json, NULL, start_ms, 6);
	bp_json_end(json);
	bp_json_array(json, "eventDelay", BP_JSON_COMPACT);
	bp_json_null(json, NULL);
	bp_json_end(json);
	bp_json_null(json, "weight");
	bp_json_text(json, "weightType", "samples");
	bp_json_whole(json, "length", 1);
	bp_json_end(json);
}

/* The number of a thread must be its own, and images of one process share theirs: the number in the
 * profile is taken. */
static void write_process(
	struct bp_firefox *to, const struct bp_process *process, uint32_t first, uint32_t end)
{
	static const char *const no_markers[] = { "data", "name", "startTime", "endTime", "phase",
		"category", NULL };
	struct bp_json *json = &to->json;
	const struct bp_process *root = &to->profile->processes.data[to->profile->root.i];
	const double start_ms =
		process->start_time_ns > root->start_time_ns
			? (double)(process->start_time_ns - root->start_time_ns) / 1e6
			: 0;
	char pid[32];
	snprintf(pid, sizeof pid, "%u.%u", process->pid, process->exec_number);
	bp_json_object(json, NULL, BP_JSON_COMPACT);
	bp_json_text(json, "processType", "default");
	bp_json_fixed(json, "processStartupTime", start_ms, 6);
	bp_json_null(json, "processShutdownTime");
	bp_json_fixed(json, "registerTime", start_ms, 6);
	bp_json_null(json, "unregisterTime");
	bp_json_break(json, 0);
	bp_json_array(json, "pausedRanges", BP_JSON_COMPACT);
	bp_json_end(json);
	bp_json_bool(json, "isMainThread", true);
	bp_json_text(json, "pid", pid);
	bp_json_whole(json, "tid", (uint64_t)(process - to->profile->processes.data));
	bp_json_text(json, "name", bp_process_name(to->profile, process));
	write_name(to, "processName", process->command_line);
	bp_json_break(json, 0);
	write_sample(json, start_ms);
	bp_json_break(json, 0);
	write_allocations(to, first, end);
	bp_json_break(json, 0);
	write_empty(to, "markers", no_markers);
	bp_json_end(json);
}

/* Processes without an event are left out, but for the first, so that there is a thread at all. */
static void write_processes(struct bp_firefox *to)
{
	const struct bp_process *processes = to->profile->processes.data;
	bp_json_array(&to->json, "threads", BP_JSON_ROWS);
	for (uint32_t first = 0, end; first < to->event_count; first = end) {
		const uint32_t process = to->events[first].process;
		for (end = first; end < to->event_count && to->events[end].process == process;)
			end++;
		write_process(to, &processes[process], first, end);
	}
	if (to->event_count == 0)
		write_process(to, &processes[to->aggregation->subject.i], 0, 0);
	bp_json_end(&to->json);
}

static void write_units(struct bp_json *json)
{
	bp_json_object(json, "sampleUnits", BP_JSON_COMPACT);
	bp_json_text(json, "time", "ms");
	bp_json_text(json, "eventDelay", "ms");
	bp_json_text(json, "threadCPUDelta", "ns");
	bp_json_end(json);
}

/* Every frame is of the one category. */
static void write_categories(struct bp_json *json)
{
	bp_json_array(json, "categories", BP_JSON_COMPACT);
	bp_json_object(json, NULL, BP_JSON_COMPACT);
	bp_json_text(json, "name", "Other");
	bp_json_text(json, "color", "grey");
	bp_json_array(json, "subcategories", BP_JSON_COMPACT);
	bp_json_text(json, NULL, "Other");
	bp_json_end(json);
	bp_json_end(json);
	bp_json_end(json);
}

static void write_meta(struct bp_firefox *to)
{
	struct bp_json *json = &to->json;
	const struct bp_process *root = &to->profile->processes.data[to->profile->root.i];
	char line[BP_EXPORT_LINE_BYTES];
	bp_json_object(json, "meta", BP_JSON_COMPACT);
	bp_json_whole(json, "interval", 1);
	bp_json_fixed(json, "startTime", (double)root->start_real_ns / 1e6, 3);
	bp_json_fixed(json, "endTime", (double)to->aggregation->duration_ns / 1e6, 6);
	bp_json_whole(json, "processType", 0);
	bp_json_whole(json, "stackwalk", 1);
	bp_json_bool(json, "debug", false);
	bp_json_whole(json, "version", GECKO_VERSION);
	bp_json_whole(json, "preprocessedProfileVersion", FORMAT_VERSION);
	bp_json_bool(json, "symbolicated", true);
	bp_json_break(json, 0);
	bp_json_text(json, "importedFrom", "bytepoll " BP_VERSION);
	bp_json_bool(json, "sourceCodeIsNotOnSearchfox", true);
	bp_json_array(json, "markerSchema", BP_JSON_COMPACT);
	bp_json_end(json);
	write_units(json);
	bp_json_break(json, 0);
	write_categories(json);
	bp_json_break(json, 0);
	bp_json_text(json, "product", bp_process_name(to->profile, root));
	write_name(to, "arguments", root->command_line);
	bp_export_total_line(to->aggregation, to->aggregation->query.metric, line);
	bp_json_text(json, "misc", line);
	bp_json_end(json);
}

void bp_firefox_write(struct bp_firefox *to)
{
	bp_json_object(&to->json, NULL, BP_JSON_ROWS);
	write_meta(to);
	write_libraries(to);
	write_shared(to);
	write_processes(to);
	bp_json_array(&to->json, "pages", BP_JSON_COMPACT);
	bp_json_end(&to->json);
	bp_json_end_document(&to->json);
}
