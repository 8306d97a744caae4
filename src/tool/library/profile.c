/* SPDX-License-Identifier: MIT */
/* Opening and closing of profiles, and what is in them: see bytepoll/analysis.h. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "library/handles.h"
#include "library/read.h"
#include "model/sample_weight.h"
#include "query/selection.h"
#include "trace/format.h"

const char *bytepoll_version(void)
{
	return BP_VERSION;
}

/* Is it one of the servers that libdebuginfod knows to ask? */
static bool is_url_list(const char *urls)
{
	static const char *const schemes[] = { "http://", "https://", "file://" };
	for (const char *at = urls; *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return false;
	for (const char *at = urls + strspn(urls, " "); *at != '\0'; at += strspn(at, " ")) {
		bool known = false;
		for (size_t i = 0; i < BP_COUNT(schemes); i++)
			known = known || strncmp(at, schemes[i], strlen(schemes[i])) == 0;
		if (!known)
			return false;
		at += strcspn(at, " ");
	}
	return true;
}

/* The path of what this function is in, on whose build kept names depend; NULL: not known. */
static const char *own_path(void)
{
	Dl_info info;
	return dladdr(own_path, &info) != 0 && info.dli_fname != NULL && info.dli_fname[0] == '/'
		       ? info.dli_fname
		       : NULL;
}

static bool read_allocators(const struct bytepoll_open_options *asked,
	struct bytepoll_profile *profile, struct bytepoll_error *error)
{
	struct bp_error reason;
	profile->allocators.none = (asked->flags & BYTEPOLL_NO_ALLOCATORS) != 0;
	if (asked->allocator_count > BP_ALLOCATOR_PATTERNS_MAX)
		return bp_call_wrong(error, "more than %d allocators", BP_ALLOCATOR_PATTERNS_MAX);
	for (uint32_t i = 0; i < asked->allocator_count; i++) {
		if (asked->allocators == NULL || asked->allocators[i] == NULL)
			return bp_call_wrong(error, "allocator %u is NULL", i);
		profile->allocator_texts[i] = strdup(asked->allocators[i]);
		if (profile->allocator_texts[i] == NULL)
			return bp_call_wrong(error, "out of memory");
		if (!bp_allocators_add(&profile->allocators, profile->allocator_texts[i], &reason))
			return bp_call_failed(error, BYTEPOLL_ERROR_CALL, &reason);
	}
	return true;
}

static bool read_options(const struct bytepoll_open_options *asked,
	struct bytepoll_profile *profile, struct bp_symbol_options *ret_symbols,
	struct bp_read_options *ret_options, struct bytepoll_error *error)
{
	const uint32_t known_flags = BYTEPOLL_NO_SYMBOLS | BYTEPOLL_NO_WINDOWS |
				     BYTEPOLL_SYMBOL_CACHE | BYTEPOLL_NO_ALLOCATORS;
	struct bytepoll_open_options known;
	if (!bp_struct_take(&known, sizeof known, asked, "the options", error))
		return false;
	if ((known.flags & ~known_flags) != 0)
		return bp_call_wrong(error, "flags %#x of the options are not known", known.flags);
	if (known.debuginfod_urls != NULL && !is_url_list(known.debuginfod_urls))
		return bp_call_wrong(
			error, "debuginfod_urls: write URLs (http://...), separated by blanks");
	if (known.assume_interval > BP_INTERVAL_MAX)
		return bp_call_wrong(error, "assume_interval: must be from 1 to 1 TiB");
	*ret_symbols = (struct bp_symbol_options){ .debug_directory = known.debug_directory,
		.debuginfod_urls = known.debuginfod_urls,
		.quiet = true,
		.program = own_path() };
	ret_symbols->cache =
		(known.flags & BYTEPOLL_SYMBOL_CACHE) != 0 && ret_symbols->program != NULL;
	*ret_options = (struct bp_read_options){ .assume_interval = known.assume_interval,
		.keep_readings = (known.flags & BYTEPOLL_NO_WINDOWS) == 0,
		.no_symbols = (known.flags & BYTEPOLL_NO_SYMBOLS) != 0,
		.symbols = ret_symbols,
		.allocators = &profile->allocators };
	return read_allocators(&known, profile, error);
}

static bool read_profile(struct bytepoll_profile *profile, const char *const *files, size_t count,
	const struct bytepoll_open_options *options, struct bytepoll_error *error)
{
	struct bp_symbol_options symbols;
	struct bp_read_options read;
	struct bp_error reason;
	if (!read_options(options, profile, &symbols, &read, error))
		return false;
	profile->file = strdup(files[0]);
	if (profile->file == NULL)
		return bp_call_wrong(error, "out of memory");
	if (!bp_read_files(files, count, &read, &profile->profile, &profile->symbols, &reason))
		return bp_call_failed(error, BYTEPOLL_ERROR_FILE, &reason);
	if (bp_attribution_init(&profile->attribution, &profile->profile, &reason))
		return true;
	bp_profile_finish(&profile->profile);
	return bp_call_failed(error, BYTEPOLL_ERROR_MEMORY, &reason);
}

/* All but the tables that were read. */
static void free_profile(struct bytepoll_profile *profile)
{
	bp_allocators_finish(&profile->allocators);
	for (size_t i = 0; i < BP_COUNT(profile->allocator_texts); i++)
		free(profile->allocator_texts[i]);
	free(profile->file);
	free(profile);
}

struct bytepoll_profile *bytepoll_open(const char *const *files, size_t count,
	const struct bytepoll_open_options *options, struct bytepoll_error *error)
{
	for (size_t i = 0; i < count || i == 0; i++)
		if (files == NULL || count == 0 || files[i] == NULL) {
			bp_call_wrong(error, "no file given");
			return NULL;
		}
	struct bytepoll_profile *profile = calloc(1, sizeof *profile);
	if (profile == NULL) {
		bp_call_wrong(error, "out of memory");
		return NULL;
	}
	atomic_init(&profile->holders, 1);
	const struct bp_plain_locale locale = bp_locale_enter();
	const bool good = read_profile(profile, files, count, options, error);
	bp_locale_leave(locale);
	if (good)
		return profile;
	free_profile(profile);
	return NULL;
}

void bp_profile_hold(struct bytepoll_profile *profile)
{
	atomic_fetch_add_explicit(&profile->holders, 1, memory_order_relaxed);
}

void bytepoll_close(struct bytepoll_profile *profile)
{
	if (profile == NULL ||
		atomic_fetch_sub_explicit(&profile->holders, 1, memory_order_acq_rel) != 1)
		return;
	bp_attribution_finish(&profile->attribution);
	bp_profile_finish(&profile->profile);
	free_profile(profile);
}

bool bytepoll_profile_info(
	const struct bytepoll_profile *handle, struct bytepoll_profile_info *ret_info)
{
	const struct bp_profile *profile = &handle->profile;
	const struct bp_symbol_summary *symbols = &handle->symbols;
	const struct bytepoll_profile_info info = { .processes = profile->processes.count - 1,
		.threads = profile->threads.count - 1,
		.types = profile->types.count - 1,
		.frames = profile->frames.count - 1,
		.stacks = profile->stacks.count - 1,
		.first_process = profile->root.i,
		.samples = profile->samples.count - 1,
		.unrelated = profile->merged_unrelated,
		.frees_unseen = (profile->lacks & BP_LACKS_FREES) != 0,
		.addresses = symbols->locations,
		.addresses_named = symbols->named,
		.modules = symbols->modules,
		.modules_missing = symbols->modules_missing,
		.modules_replaced = symbols->modules_replaced };
	return bp_struct_give(ret_info, &info, sizeof info);
}

struct bytepoll_count bp_count_given(struct bp_known_total total)
{
	return (struct bytepoll_count){ total.low, total.high };
}

static uint64_t since(uint64_t time_ns, uint64_t start_ns)
{
	return time_ns > start_ns ? time_ns - start_ns : 0;
}

/* When the clock of a process begins: at its own start where files are unrelated, else at the
 * root's. */
static uint64_t clock_of(const struct bp_profile *profile, uint32_t process)
{
	const uint32_t root = profile->root.i;
	if (!profile->merged_unrelated)
		return profile->processes.data[root].start_time_ns;
	for (uint32_t hops = 0; hops < profile->processes.count; hops++) {
		const uint32_t parent = profile->processes.data[process].parent.i;
		if (parent == 0)
			break;
		process = parent;
	}
	return profile->processes.data[process].start_time_ns;
}

bool bytepoll_profile_process(const struct bytepoll_profile *handle, uint32_t number,
	struct bytepoll_process *ret_process)
{
	const struct bp_profile *profile = &handle->profile;
	if (number == 0 || number >= profile->processes.count)
		return false;
	const struct bp_process *p = &profile->processes.data[number];
	const struct bytepoll_process process = { .pid = p->pid,
		.parent_pid = p->parent_pid,
		.parent = p->parent.i,
		.exec_number = p->exec_number,
		.name = bp_process_name(profile, p),
		.program = bp_profile_text(profile, p->program),
		.command_line = bp_profile_text(profile, p->command_line),
		.file = bp_profile_text(profile, p->file),
		.start_unix_ns = p->start_real_ns,
		.start_ns = since(p->start_time_ns, clock_of(profile, number)),
		.duration_ns = since(p->end_time_ns, p->start_time_ns),
		.ended = p->ended,
		.profiled = p->profiled,
		.law = p->law,
		.charge = p->charge,
		.interval_first = p->interval_first,
		.interval_min = p->interval_min != 0 ? p->interval_min : p->interval_max,
		.interval_max = p->interval_max,
		.samples = p->samples,
		.bytes = bp_count_given(p->bytes_allocated),
		.objects = bp_count_given(p->objects_allocated),
		.bytes_off = bp_count_given(p->bytes_off),
		.objects_off = bp_count_given(p->objects_off),
		.recorder_bytes = p->recorder_bytes };
	return bp_struct_give(ret_process, &process, sizeof process);
}

bool bytepoll_profile_thread(
	const struct bytepoll_profile *handle, uint32_t number, struct bytepoll_thread *ret_thread)
{
	const struct bp_profile *profile = &handle->profile;
	if (number == 0 || number >= profile->threads.count)
		return false;
	const struct bp_thread *t = &profile->threads.data[number];
	const struct bytepoll_thread thread = { .process = t->process.i,
		.tid = t->tid,
		.name = bp_profile_text(profile, t->name),
		.bytes = bp_count_given(t->bytes_allocated),
		.objects = bp_count_given(t->objects_allocated) };
	return bp_struct_give(ret_thread, &thread, sizeof thread);
}

const char *bytepoll_profile_type(const struct bytepoll_profile *handle, uint32_t number)
{
	const struct bp_profile *profile = &handle->profile;
	return number == 0 || number >= profile->types.count
		       ? NULL
		       : bp_profile_text(profile, profile->types.data[number].name);
}

bool bytepoll_profile_frame(
	const struct bytepoll_profile *handle, uint32_t number, struct bytepoll_frame *ret_frame)
{
	const struct bp_profile *profile = &handle->profile;
	if (number >= profile->frames.count)
		return false;
	const struct bp_frame *f = &profile->frames.data[number];
	const struct bp_module *module = &profile->modules.data[f->module.i];
	const struct bytepoll_frame frame = { .function = bp_profile_text(profile, f->function),
		.system_name = bp_profile_text(profile, f->system_name),
		.file = bp_profile_text(profile, f->source_file),
		.module = bp_profile_text(profile, module->path),
		.build_id = bp_profile_text(profile, module->build_id),
		.line = f->line,
		.inlined = f->inlined,
		.named = f->named };
	return bp_struct_give(ret_frame, &frame, sizeof frame);
}

bool bytepoll_profile_stack(
	const struct bytepoll_profile *handle, uint32_t number, struct bytepoll_stack *ret_stack)
{
	const struct bp_profile *profile = &handle->profile;
	const struct bp_stack_id id = { number };
	struct bytepoll_stack stack = { 0 };
	if (number >= profile->stacks.count)
		return false;
	stack.frames = &bp_attribution_frames(&handle->attribution, id, &stack.depth)->i;
	if (stack.depth > 0)
		stack.charged = bp_attribution_index(&handle->attribution, id);
	stack.flags = profile->stacks.data[number].flags;
	return bp_struct_give(ret_stack, &stack, sizeof stack);
}

/* 1 / P(sampled). */
static double weight_of(const struct bp_sample *sample, uint32_t charge)
{
	if (sample->exact)
		return 1;
	return 1 / bp_inclusion_probability(bp_trials(sample->size, charge), sample->interval);
}

bool bytepoll_profile_sample(
	const struct bytepoll_profile *handle, uint64_t number, struct bytepoll_sample *ret_sample)
{
	const struct bp_profile *profile = &handle->profile;
	if (number >= profile->samples.count - 1u)
		return false;
	const struct bp_sample s = bp_profile_sample(profile, (uint32_t)number + 1);
	const uint64_t start_ns = clock_of(profile, s.process.i);
	const struct bytepoll_sample sample = { .size = s.size,
		.usable = s.usable,
		.interval = s.interval,
		.offset = s.offset,
		.count = bp_sample_count(&s),
		.weight = weight_of(&s, profile->processes.data[s.process.i].charge),
		.time_ns = since(s.time_ns, start_ns),
		.free_time_ns = s.free_time_ns == BP_TIME_NEVER ? BYTEPOLL_NEVER
								: since(s.free_time_ns, start_ns),
		.sequence = s.sequence,
		.free_sequence = s.free_sequence,
		.stack = s.stack.i,
		.process = s.process.i,
		.thread = s.thread.i,
		.type = s.type.i,
		.kind = bp_type_name(profile, s.kind),
		.flags = (s.exact ? BYTEPOLL_SAMPLE_EXACT : 0u) |
			 (s.bernoulli ? BYTEPOLL_SAMPLE_BERNOULLI : 0u) |
			 (s.temporary ? BYTEPOLL_SAMPLE_TEMPORARY : 0u),
		.labels = bp_profile_text(profile, profile->labels.data[s.labels.i].text) };
	return bp_struct_give(ret_sample, &sample, sizeof sample);
}
