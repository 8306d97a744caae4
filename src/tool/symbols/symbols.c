/* SPDX-License-Identifier: MIT */
/*
 * From the locations of a profile to requests by module, and from what comes back to frames.
 * Modules of equal file (path, build-id, size, time), as the processes of a tree have them, are one
 * request, or, where many addresses are asked of one, several, each about a stretch of it; within a
 * request the addresses ascend. A return address is looked up one byte earlier: it may already
 * belong to the next line, inlined call or function. Whatever gets no name is shown as
 * module+0xoffset, and without a module as its address. The module of a program is called what the
 * program was started as: redis-server is a link to redis-check-rdb.
 */
#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/path.h"
#include "model/names/process_name.h"
#include "symbols/module_request.h"
#include "symbols/worker.h"

/* Longest module name in a made-up name; the rest of a longer one is cut. */
#define MODULE_NAME_MAX 200
/* Addresses that are worth a further process: opening and indexing a file of 150 MB takes as long
 * as a thousand addresses or two of it. */
#define PART_ADDRESSES 2000u
/* Most processes at once; each takes some hundred megabytes of a large program. */
#define PROCESSES_MAX 8u

struct item {
	uint64_t address; /* to look up */
	uint32_t location, module;
	uint32_t group; /* modules of equal file have one number */
};

/* What one request is about, for the frames that come back. */
struct resolution {
	struct bp_profile *profile;
	struct bp_symbol_summary *summary;
	struct bp_error *error;
	const struct item *items; /* of the module at hand */
	/* what the program of a path was started as, by the string of the path; NULL: it has the
	 * name of its file */
	const struct bp_string_id *started_as;
};

static bool string_of(struct bp_profile *profile, const char *text, struct bp_string_id *ret_string,
	struct bp_error *error)
{
	return bp_profile_string(profile, text, strlen(text), ret_string, error);
}

/* Are the name of a file and what the program was started as two names of it? (Not where one is the
 * other with a version, as of python3 and python3.11.) */
static bool are_two_names(const char *file, const char *started)
{
	return *started != '\0' && strncmp(file, started, strlen(started)) != 0;
}

/* By the string of the executable's path: what its processes were started as, where that is not the
 * name of the file, and all agree. The caller frees it; NULL: no memory, or no such process. */
static struct bp_string_id *find_started(const struct bp_profile *profile)
{
	struct bp_string_id *names = NULL;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		const char *path = bp_profile_text(profile, process->program);
		if (names == NULL && *path == '/' &&
			are_two_names(bp_last_part(path), bp_process_name(profile, process)))
			names = calloc(profile->strings.count, sizeof *names);
	}
	for (uint32_t i = 1; names != NULL && i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		struct bp_string_id *name = &names[process->program.i];
		const bool first = name->i == 0;
		*name = first || strcmp(bp_profile_text(profile, *name),
					 bp_process_name(profile, process)) == 0
				? process->name
				: process->program;
	}
	return names;
}

/* What a module is called. */
static const char *module_name(
	const struct resolution *resolution, const struct bp_location *location)
{
	const struct bp_profile *profile = resolution->profile;
	const struct bp_string_id path = profile->modules.data[location->module.i].path;
	const char *text = bp_profile_text(profile, path), *file = bp_last_part(text);
	if (*file == '\0')
		file = text;
	if (resolution->started_as == NULL || resolution->started_as[path.i].i == 0)
		return file;
	const char *started = bp_profile_text(profile, resolution->started_as[path.i]);
	return *started != '/' && are_two_names(file, started) ? started : file;
}

/* "libz.so.1+0x1234", or "0x7f0012345678" without a module. */
static bool offset_name(const struct resolution *resolution, const struct bp_location *location,
	struct bp_string_id *ret_string, struct bp_error *error)
{
	char text[MODULE_NAME_MAX + 32];
	const char *name = module_name(resolution, location);
	if (location->module.i == 0 || name[0] == '\0')
		snprintf(text, sizeof text, "0x%" PRIx64, location->address);
	else
		snprintf(text, sizeof text, "%.*s+0x%" PRIx64, MODULE_NAME_MAX, name,
			location->address);
	return string_of(resolution->profile, text, ret_string, error);
}

static bool set_unnamed(struct resolution *resolution, uint32_t location_number)
{
	struct bp_location_id id = { location_number };
	struct bp_location location = resolution->profile->locations.data[location_number];
	struct bp_frame frame = { .module = location.module };
	if (!offset_name(resolution, &location, &frame.function, resolution->error))
		return false;
	return bp_profile_set_frames(resolution->profile, id, &frame, 1, resolution->error);
}

static bool make_frame(struct resolution *resolution, const struct bp_location *location,
	const struct bp_found_frame *found, struct bp_frame *ret_frame)
{
	struct bp_profile *profile = resolution->profile;
	struct bp_frame frame = { .module = location->module, .line = found->line };
	frame.named = found->function[0] != '\0';
	if (frame.named ? !string_of(profile, found->function, &frame.function, resolution->error)
			: !offset_name(resolution, location, &frame.function, resolution->error))
		return false;
	if (!string_of(profile, found->system_name, &frame.system_name, resolution->error) ||
		!string_of(profile, found->source_file, &frame.source_file, resolution->error))
		return false;
	*ret_frame = frame;
	return true;
}

static bool take_frames(
	void *context, uint32_t index, const struct bp_found_frame *found, uint32_t count)
{
	struct resolution *resolution = context;
	struct bp_location_id id = { resolution->items[index].location };
	struct bp_location location = resolution->profile->locations.data[id.i];
	struct bp_frame frames[BP_FRAMES_MAX] = { 0 };
	if (location.resolved)
		return true;
	for (uint32_t i = 0; i < count; i++) {
		if (!make_frame(resolution, &location, &found[i], &frames[i]))
			return false;
		frames[i].inlined = i + 1 < count;
	}
	resolution->summary->named += frames[0].named;
	return bp_profile_set_frames(resolution->profile, id, frames, count, resolution->error);
}

/* On a terminal, so that nobody thinks it hangs; the build-id is hex digits by then. */
static void show_progress(void *context, uint64_t done, uint64_t all)
{
	const struct resolution *resolution = context;
	const struct bp_profile *profile = resolution->profile;
	const struct bp_module *module = &profile->modules.data[resolution->items[0].module];
	if (isatty(STDERR_FILENO) == 0)
		return;
	fprintf(stderr,
		"\r\x1b[Kfetching debug information of %.16s: %" PRIu64 " of %" PRIu64 " KiB",
		bp_profile_text(profile, module->build_id), done >> 10, all >> 10);
	if (done == all)
		fputs("\r\x1b[K", stderr);
	fflush(stderr);
}

static void count_module(
	struct bp_symbol_summary *summary, const struct bp_module_answer *answer, const char *path)
{
	summary->modules++;
	summary->modules_missing += answer->state == BP_MODULE_MISSING;
	summary->modules_replaced += answer->state == BP_MODULE_REPLACED;
	summary->modules_unverified += answer->state == BP_MODULE_UNVERIFIED;
	summary->modules_failed += answer->state == BP_MODULE_FAILED;
	summary->modules_stripped += answer->state == BP_MODULE_READ && answer->stripped;
	summary->modules_compressed += answer->compressed;
	summary->modules_too_large += answer->too_large;
	if (answer->too_large && summary->too_large_example[0] == '\0')
		snprintf(summary->too_large_example, sizeof summary->too_large_example, "%s", path);
	if (answer->state == BP_MODULE_REPLACED && summary->replaced_example[0] == '\0')
		snprintf(summary->replaced_example, sizeof summary->replaced_example, "%s", path);
}

static void tell(const char *path, const struct bp_module_answer *answer, uint32_t addresses)
{
	static const char *const texts[] = {
		[BP_MODULE_READ] = "read",
		[BP_MODULE_MISSING] = "gone or unreadable",
		[BP_MODULE_REPLACED] = "another file now, not used",
		[BP_MODULE_UNVERIFIED] = "nothing recorded to know it by, not used",
		[BP_MODULE_FAILED] = "could not be read to the end",
	};
	fprintf(stderr, "bytepoll: symbols of %s: %s%s%s%s, %" PRIu32 " addresses\n", path,
		texts[answer->state], answer->stripped ? ", stripped" : "",
		answer->compressed ? ", debug information packed by zstd" : "",
		answer->too_large ? ", debug information not read: too large unpacked" : "",
		addresses);
}

/* Has the path a file behind it? Not "[vdso]", not the empty name of no module. */
static bool has_file(const char *path)
{
	return path[0] != '\0' && path[0] != '[';
}

/* The jobs of one call, each with what the frames that come back are about. */
struct plan {
	struct bp_worker_job *jobs;
	struct resolution *resolutions;
	uint64_t *addresses; /* of all jobs */
	uint32_t count, capacity, address_count, processes;
};

static uint32_t processors(void)
{
	cpu_set_t set;
	uint32_t count = 1;
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		count = (uint32_t)CPU_COUNT(&set);
	return count > PROCESSES_MAX ? PROCESSES_MAX : count;
}

/* What a cached answer depends on beside the module: this very program, as it was built. */
static uint64_t program_identity(const char *path)
{
	struct stat status;
	uint64_t hash = 1;
	if (stat(path != NULL ? path : "/proc/self/exe", &status) != 0)
		return hash;
	hash = bp_hash_u64(hash ^ (uint64_t)status.st_size);
	hash = bp_hash_u64(hash ^ (uint64_t)status.st_mtim.tv_sec);
	return bp_hash_u64(hash ^ (uint64_t)status.st_mtim.tv_nsec);
}

static void fill_request(struct bp_module_request *request, const struct bp_profile *profile,
	const struct bp_module *module, const struct bp_symbol_options *options)
{
	/* Copies: the profile's strings may move while frames are added. */
	request->path = strdup(bp_profile_text(profile, module->path));
	request->build_id = strdup(bp_profile_text(profile, module->build_id));
	request->file_bytes = module->file_bytes;
	request->file_mtime_ns = module->file_mtime_ns;
	if (options == NULL)
		return;
	request->debug_directory = options->debug_directory;
	request->debuginfod_urls = options->debuginfod_urls;
	request->cache = options->cache;
	request->cache_variant = options->cache ? program_identity(options->program) : 0;
}

static bool add_job(struct plan *plan, const struct resolution *resolution,
	const struct bp_symbol_options *options, const struct item *items, uint32_t count)
{
	const struct bp_profile *profile = resolution->profile;
	struct bp_worker_job *job = &plan->jobs[plan->count];
	struct resolution *own = &plan->resolutions[plan->count++];
	uint64_t *addresses = plan->addresses + plan->address_count;
	*own = *resolution;
	own->items = items;
	*job = (struct bp_worker_job){ .found = take_frames,
		.progress = options != NULL && options->quiet ? NULL : show_progress,
		.context = own };
	fill_request(&job->request, profile, &profile->modules.data[items[0].module], options);
	for (uint32_t i = 0; i < count; i++)
		addresses[i] = items[i].address;
	plan->address_count += count;
	job->request.addresses = addresses;
	job->request.count = count;
	return job->request.path != NULL && job->request.build_id != NULL;
}

/* One job, or as many as are worth it. */
static bool plan_module(struct plan *plan, const struct resolution *resolution,
	const struct bp_symbol_options *options, const struct item *items, uint32_t count)
{
	uint32_t parts = 1 + count / PART_ADDRESSES;
	if (parts > plan->processes)
		parts = plan->processes;
	for (uint32_t i = 0; i < parts; i++) {
		uint32_t first = (uint32_t)((uint64_t)count * i / parts);
		uint32_t end = (uint32_t)((uint64_t)count * (i + 1) / parts);
		if (!add_job(plan, resolution, options, items + first, end - first))
			return false;
	}
	return true;
}

static bool plan_all(struct plan *plan, const struct resolution *resolution,
	const struct bp_symbol_options *options, const struct item *items, uint32_t count)
{
	const struct bp_profile *profile = resolution->profile;
	uint32_t first = 0;
	if (options != NULL && options->no_files)
		return true;
	while (first < count) {
		uint32_t end = first + 1, module = items[first].module;
		while (end < count && items[end].group == items[first].group)
			end++;
		if (module != 0 &&
			has_file(bp_profile_text(profile, profile->modules.data[module].path)) &&
			!plan_module(plan, resolution, options, items + first, end - first))
			return false;
		first = end;
	}
	return true;
}

static bool plan_init(struct plan *plan, uint32_t modules, uint32_t items)
{
	*plan = (struct plan){ .processes = processors() };
	plan->capacity = modules + items / PART_ADDRESSES + 1;
	plan->jobs = calloc(plan->capacity, sizeof *plan->jobs);
	plan->resolutions = calloc(plan->capacity, sizeof *plan->resolutions);
	plan->addresses = calloc(items, sizeof *plan->addresses);
	return plan->jobs != NULL && plan->resolutions != NULL && plan->addresses != NULL;
}

static void plan_finish(struct plan *plan)
{
	for (uint32_t i = 0; plan->jobs != NULL && i < plan->count; i++) {
		free((char *)plan->jobs[i].request.path);
		free((char *)plan->jobs[i].request.build_id);
	}
	free(plan->jobs);
	free(plan->resolutions);
	free(plan->addresses);
}

/* Counts the modules; the parts of one are one, of which the worst answer counts. */
static void count_modules(const struct plan *plan, const struct bp_symbol_options *options,
	struct bp_symbol_summary *summary)
{
	for (uint32_t i = 0; i < plan->count;) {
		struct bp_module_answer answer = plan->jobs[i].answer;
		const char *path = plan->jobs[i].request.path;
		uint32_t group = plan->resolutions[i].items[0].group, addresses = 0;
		for (; i < plan->count && plan->resolutions[i].items[0].group == group; i++) {
			addresses += plan->jobs[i].request.count;
			if (plan->jobs[i].answer.state > answer.state)
				answer = plan->jobs[i].answer;
		}
		count_module(summary, &answer, path);
		if (options != NULL && options->verbose)
			tell(path, &answer, addresses);
	}
}

static bool resolve_items(struct resolution *resolution, const struct bp_symbol_options *options,
	const struct item *items, uint32_t count)
{
	const struct bp_profile *profile = resolution->profile;
	struct plan plan;
	bool done = plan_init(&plan, profile->modules.count, count) &&
		    plan_all(&plan, resolution, options, items, count) &&
		    bp_workers_resolve(plan.jobs, plan.count, plan.processes);
	if (done)
		count_modules(&plan, options, resolution->summary);
	else if (resolution->error->text[0] == '\0')
		bp_error_set(resolution->error, "no memory to read symbols");
	plan_finish(&plan);
	for (uint32_t i = 0; done && i < count; i++)
		if (!profile->locations.data[items[i].location].resolved)
			done = set_unnamed(resolution, items[i].location);
	resolution->summary->locations += done ? count : 0;
	return done;
}

struct module_key {
	struct bp_module module;
	uint32_t number;
};

static int compare_files(const struct bp_module *a, const struct bp_module *b)
{
	if (a->path.i != b->path.i)
		return a->path.i < b->path.i ? -1 : 1;
	if (a->build_id.i != b->build_id.i)
		return a->build_id.i < b->build_id.i ? -1 : 1;
	if (a->file_bytes != b->file_bytes)
		return a->file_bytes < b->file_bytes ? -1 : 1;
	if (a->file_mtime_ns != b->file_mtime_ns)
		return a->file_mtime_ns < b->file_mtime_ns ? -1 : 1;
	return 0;
}

static int compare_keys(const void *left, const void *right)
{
	const struct module_key *a = left, *b = right;
	int order = compare_files(&a->module, &b->module);
	if (order != 0)
		return order;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* group_of[m]: the smallest module number with the same file as module m. */
static bool group_modules(const struct bp_profile *profile, uint32_t *group_of)
{
	uint32_t count = profile->modules.count, first = 0;
	struct module_key *keys = calloc(count, sizeof *keys);
	if (keys == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++)
		keys[i] = (struct module_key){ profile->modules.data[i], i };
	qsort(keys, count, sizeof *keys, compare_keys);
	for (uint32_t i = 0; i < count; i++) {
		if (i == 0 || compare_files(&keys[i].module, &keys[first].module) != 0)
			first = i;
		group_of[keys[i].number] = keys[first].number;
	}
	free(keys);
	return true;
}

static int compare_items(const void *left, const void *right)
{
	const struct item *a = left, *b = right;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->location < b->location ? -1 : a->location > b->location;
}

/* The unresolved locations, by module and address. */
static bool collect(const struct bp_profile *profile, const uint32_t *group_of, struct item *items,
	uint32_t *ret_count)
{
	uint32_t count = 0;
	for (uint32_t i = 1; i < profile->locations.count; i++) {
		const struct bp_location *location = &profile->locations.data[i];
		if (location->resolved || location->module.i >= profile->modules.count)
			continue;
		items[count++] = (struct item){
			.address = location->address - (!location->exact && location->address > 0),
			.location = i,
			.module = location->module.i,
			.group = group_of[location->module.i],
		};
	}
	qsort(items, count, sizeof *items, compare_items);
	*ret_count = count;
	return count > 0;
}

bool bp_symbols_resolve(struct bp_profile *profile, const struct bp_symbol_options *options,
	struct bp_symbol_summary *ret_summary, struct bp_error *error)
{
	struct bp_symbol_summary summary = { 0 };
	struct bp_error unheard = { "" };
	struct resolution resolution = { .profile = profile, .summary = &summary };
	struct bp_string_id *started_as = NULL;
	struct item *items = NULL;
	uint32_t *group_of = NULL, count = 0;
	bool done = true;
	resolution.error = error != NULL ? error : &unheard;
	resolution.error->text[0] = '\0';
	if (profile->locations.count > 1 && profile->modules.count > 0) {
		resolution.started_as = started_as = find_started(profile);
		items = calloc(profile->locations.count, sizeof *items);
		group_of = calloc(profile->modules.count, sizeof *group_of);
		done = items != NULL && group_of != NULL && group_modules(profile, group_of);
		if (!done)
			bp_error_set(error, "no memory to read symbols");
		else if (collect(profile, group_of, items, &count))
			done = resolve_items(&resolution, options, items, count);
	}
	free(items);
	free(group_of);
	free(started_as);
	if (done && ret_summary != NULL)
		*ret_summary = summary;
	return done;
}
