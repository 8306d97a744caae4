/* SPDX-License-Identifier: MIT */
/*
 * The life of a profiled process.
 *
 * Start. At the constructor, or at the first cold path should that come earlier: the real functions
 * are found, the configuration is read, the trace is created. Where the program never calls our
 * malloc, or the hooks could not be made fit for another one, the trace holds nothing but a header
 * that says why. A process with more rights than its caller is not configured, and has no trace.
 *
 * Fork. A handler takes every lock before, so that the child inherits whole structures; in the
 * child it opens a trace of its own at once (the process may drop its privileges next) and starts
 * the counters at zero. The parent's mappings are not inherited, but for its state page. A child
 * made behind the handlers' back (raw clone, _Fork) is found by a page that the kernel wipes in
 * children, looked at before anything is written; there locks may have been held, and what they
 * guarded is abandoned.
 *
 * vfork children share the memory and count as the parent's thread that made them; exec and _exit
 * called by them do not end the parent's trace (the pid tells).
 *
 * End. The state page gets the exact totals. Each later allocation, of a destructor, is published.
 */
#include "recorder/recorder.h"

#include <link.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/system_call.h"
#include "probes/test_points.h"
#include "python/frame_names.h"
#include "python/interpreter.h"
#include "python/mixed_stack.h"
#include "recognition/live_set.h"
#include "recognition/slots.h"
#include "recorder/event.h"
#include "recorder/mapping.h"
#include "recorder/steering/control.h"
#include "recorder/program/labels.h"
#include "recorder/program/listeners.h"
#include "recorder/program/pools.h"
#include "recorder/program/program_calls.h"
#include "recorder/real.h"
#include "recorder/thread.h"
#include "recorder/verify.h"
#include "recorder/visit.h"
#include "sampler/prng.h"
#include "start/config.h"
#include "start/predecessor.h"
#include "start/tree_folder.h"
#include "tables/arena.h"
#include "unwind/modules.h"
#include "unwind/stack_table.h"

/* What glibc's pthread_atfork calls. Weak, because another C library has no such function, and
 * would refuse to start a program that the recorder is preloaded to. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
	void *object) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

struct bp_recorder bp_recorder __attribute__((visibility("hidden")));

/* Two clocks are read one after the other: so much their difference may differ. */
#define SAME_CLOCK_NS 1000000u

static struct bp_config config;
/* What the header says of the program; a forked child is the same program. */
static struct bp_trace_header header;
static char strings[BP_HEADER_MAX_BYTES];
static char name[BP_PATH_BYTES];
static bool handlers_set;
static struct bp_lock end_lock; /* over what the state page says of the end */

static uint64_t mix(uint64_t a, uint64_t b)
{
	return bp_splitmix64(&a) ^ (b + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
}

/* Creates the first free FILE.d/<pid>.<n>.bpt. */
static bool open_in_folder(int folder)
{
	for (uint32_t number = 0; number < 10000; number++) {
		bp_config_trace_name(config.base, header.pid, number, name);
		header.exec_number = number;
		if (bp_writer_open_in(&bp_recorder.writer, folder, name, &header, strings))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/* Creates the first free of FILE (unless a child) and FILE.d/<pid>.<n>.bpt. */
static bool open_trace(bool child)
{
	if (!child) {
		if (bp_writer_open(&bp_recorder.writer, config.base, &header, strings))
			return true;
		if (errno != EEXIST)
			return false;
	}
	const int folder = bp_tree_folder_open(config.base, true);
	if (folder < 0)
		return false;
	const bool opened = open_in_folder(folder);
	bp_system_close(folder);
	return opened;
}

/* The generator's key: the one drawn from the OS, or made of the user's seed and the place in the
 * tree. */
static uint64_t process_key(uint64_t drawn, const uint64_t *parent_key)
{
	if (!config.seed_given)
		return drawn;
	if (parent_key != NULL)
		return mix(*parent_key, bp_recorder.forks);
	/* The first image is the same in every run; later images differ from one another. */
	if (__builtin_strcmp(bp_recorder.writer.path, config.base) == 0)
		return mix(config.seed, 0);
	return mix(mix(config.seed, header.pid), header.exec_number + 1);
}

/* The part of the header that holds for every process of this program. */
static void describe_program(enum bp_unprofiled reason)
{
	extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
	struct stat namespace;
	header = (struct bp_trace_header){
		.magic = BP_TRACE_MAGIC,
		.version_major = BP_TRACE_MAJOR,
		.version_minor = BP_TRACE_MINOR,
		.flags_skippable = (reason == BP_PROFILED ? bp_verify_flags() : 0) |
				   bp_mapping_begin(reason == BP_PROFILED && config.mapped) |
				   bp_event_begin(reason == BP_PROFILED && config.free_stacks) |
				   (uint64_t)config.misread << BP_HEADER_MISREAD_SHIFT,
		.chunk_bytes = BP_CHUNK_BYTES,
		.page_bytes = (uint32_t)bp_system_page_bytes(),
		.machine = __ehdr_start.e_machine,
		.law = config.law,
		.charge_bytes = BP_SAMPLER_CHARGE,
		.seed = config.seed,
		.seed_given = config.seed_given,
		.recognition = bp_recorder.recognition,
		.unprofiled_reason = reason,
	};
	if (syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &namespace, 0) == 0)
		header.pid_namespace = namespace.st_ino;
	bp_config_strings(&header, strings, bp_real_malloc_owner());
}

/* The clocks as a process begins. A child may be in another time namespace than its parent; then
 * its clock is another number of nanoseconds away from the real time, by which it is noticed
 * without a look at /proc. */
static void read_clocks(bool child)
{
	const uint64_t before_ns = header.start_real_ns - header.start_monotonic_ns;
	header.start_monotonic_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	header.start_real_ns = bp_system_time_ns(CLOCK_REALTIME);
	const uint64_t now_ns = header.start_real_ns - header.start_monotonic_ns;
	if (!child || now_ns - before_ns + SAME_CLOCK_NS > 2 * SAME_CLOCK_NS)
		header.clock_offset_ns = bp_clock_offset_ns();
}

static bool begin_trace(bool child, bool unmarked)
{
	const uint64_t parent_key = bp_recorder.random_key;
	struct {
		uint8_t trace_id[16];
		uint64_t key;
	} drawn;
	header.pid = bp_system_pid();
	header.parent_pid = (uint32_t)syscall(SYS_getppid);
	header.exec_number = 0;
	read_clocks(child);
	if (child) {
		__builtin_memcpy(header.parent_trace_id, bp_recorder.trace_id, 16);
		header.parent_sequence = bp_recorder.sequence;
	}
	bp_system_random(&drawn, sizeof drawn);
	__builtin_memcpy(header.trace_id, drawn.trace_id, sizeof header.trace_id);
	bp_control_describe(&header);
	if (!open_trace(child))
		return false;
	bp_control_publish(bp_writer_state(&bp_recorder.writer));
	bp_writer_state(&bp_recorder.writer)->unmarked_fork = unmarked;
	bp_recorder.random_key = process_key(drawn.key, child ? &parent_key : NULL);
	bp_recorder.law = config.law;
	bp_recorder.pid = header.pid;
	bp_recorder.forks = bp_recorder.last_ordinal = bp_recorder.mappings = 0;
	__builtin_memcpy(bp_recorder.trace_id, header.trace_id, 16);
	return true;
}

static bool make_fork_mark(void)
{
	uint32_t *mark = bp_system_memory(4096);
	if (mark == NULL)
		return false;
	if (!bp_system_advise(mark, 4096, MADV_WIPEONFORK)) {
		bp_system_unmap(mark, 4096);
		return false;
	}
	*mark = 1;
	bp_recorder.fork_mark = mark;
	return true;
}

/* Set-uid, set-gid, or file capabilities. Such a process would create the trace with rights that
 * its caller lacks, at a path that its caller chose, be it by BYTEPOLL_OUTPUT or by the current
 * directory. The kernel says so in the auxiliary vector, which is there before libc's environ and
 * secure_getenv. */
static bool has_more_rights_than_caller(void)
{
	return getauxval(AT_SECURE) != 0;
}

static bool register_fork_handlers(void)
{
	if (!handlers_set)
		handlers_set = __register_atfork(bp_recorder_fork_prepare, bp_recorder_fork_parent,
				       bp_recorder_fork_child, __dso_handle) == 0;
	return handlers_set;
}

static void start(char **environment)
{
	static const struct {
		enum bp_recognition recognition;
		enum bp_unprofiled reason;
	} forms[] = {
		[BP_REAL_GLIBC] = { BP_RECOGNITION_HEADER, BP_PROFILED },
		[BP_REAL_FOREIGN] = { BP_RECOGNITION_TABLE, BP_PROFILED },
		[BP_REAL_NOT_OURS] = { BP_RECOGNITION_NONE, BP_UNPROFILED_FOREIGN_MALLOC },
		[BP_REAL_STUCK] = { BP_RECOGNITION_NONE, BP_UNPROFILED_HOOKS },
		[BP_REAL_OTHER_LIBC] = { BP_RECOGNITION_NONE, BP_UNPROFILED_OTHER_LIBC },
	};
	const enum bp_real_form form = bp_real_resolve();
	/* A sanitizer: before its start no function may be called that it stands before, not even
	 * to say so. */
	if (form == BP_REAL_SANITIZED || has_more_rights_than_caller()) {
		__atomic_store_n(&bp_recorder.mode, BP_MODE_OFF, __ATOMIC_RELEASE);
		return;
	}
	const enum bp_unprofiled reason = forms[form].reason;
	struct bp_predecessor predecessor;
	bp_recorder.recognition = forms[form].recognition;
	bp_config_read(environment, &config);
	bp_recorder.perturb = config.perturb;
	bp_control_configure(&config);
	describe_program(reason);
	bool wanted = config.follow_pid == 0 || config.follow_pid == bp_system_pid();
	if (wanted && bp_predecessor_find(&config, header.pid_namespace, &predecessor))
		bp_control_take_over(&config, &predecessor);
	if (!wanted || !make_fork_mark() || !begin_trace(false, false) || reason != BP_PROFILED) {
		__atomic_store_n(&bp_recorder.mode, BP_MODE_OFF, __ATOMIC_RELEASE);
		return;
	}
	bp_python.wanted = config.python;
	bp_probe_start(environment);
	bp_stack_init(true);
	(void)bp_threads_init();
	(void)register_fork_handlers();
	if (form == BP_REAL_FOREIGN)
		bp_mapping_adopt_entries();
	bp_real_adopt_python();
	__atomic_store_n(&bp_recorder.mode, BP_MODE_ON, __ATOMIC_RELEASE);
}

/* What of an earlier trace must not be taken for known in a new one. */
static void forget_trace(void)
{
	bp_stack_table_after_fork();
	bp_labels_after_fork();
	bp_pools_after_fork();
	bp_python_places_after_fork();
	bp_mixed_stack_after_fork();
	bp_modules_after_fork();
}

enum bp_attach_result bp_recorder_begin_late(char **settings)
{
	const bool again = bp_recorder.fork_mark != NULL;
	if (bp_real_resolve_late() != BP_REAL_FOREIGN)
		return BP_ATTACH_MALLOC;
	bp_recorder.recognition = BP_RECOGNITION_TABLE;
	bp_config_read(settings, &config);
	bp_control_configure(&config);
	describe_program(BP_PROFILED);
	header.flags_skippable |= BP_HEADER_ATTACHED;
	if ((!again && !make_fork_mark()) || !begin_trace(false, false))
		return BP_ATTACH_TRACE;
	bp_recorder.ended = false;
	*bp_recorder.fork_mark = 1;
	if (again) {
		forget_trace();
		bp_real_await_python();
		bp_python_describe(&bp_recorder.writer);
	} else {
		bp_python.wanted = config.python;
		bp_probe_start(environ);
		bp_stack_init(false);
		(void)bp_threads_init();
		(void)register_fork_handlers();
	}
	__atomic_store_n(&bp_recorder.mode, BP_MODE_STARTING, __ATOMIC_SEQ_CST);
	return BP_ATTACH_DONE;
}

static bool ensure_started(char **environment)
{
	uint32_t mode = BP_MODE_NEW;
	if (__atomic_compare_exchange_n(&bp_recorder.mode, &mode, BP_MODE_STARTING, false,
		    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		/* The loader allocates for our look-ups: those are no requests of the program's. */
		const struct bp_hot before = bp_hot;
		start(environment);
		struct bp_thread *thread = bp_hot.thread; /* which has records of its own by now */
		bp_hot = before;
		bp_hot.thread = thread;
	}
	return __atomic_load_n(&bp_recorder.mode, __ATOMIC_ACQUIRE) == BP_MODE_ON;
}

bool bp_recorder_is_on(void)
{
	return ensure_started(NULL);
}

__attribute__((constructor)) void bp_recorder_start(int argc, char **argv, char **environment)
{
	(void)argc, (void)argv;
	if (bp_real_is_late()) { /* bytepoll_attach will start it */
		bp_recorder.is_late = true;
		__atomic_store_n(&bp_recorder.mode, BP_MODE_OFF, __ATOMIC_RELEASE);
		__atomic_store_n(&bytepoll_attached.ready, 1, __ATOMIC_RELEASE);
		return;
	}
	if (!bp_real_has_glibc())
		environment = environ; /* other C libraries call constructors without arguments */
	/* We come before libc's own start. Another malloc, which is first called by ours, shall
	 * find its settings in the environment (MALLOC_CONF ...) all the same; libc will store the
	 * same pointer. */
	if (environ == NULL)
		environ = environment;
	if (bp_hot.busy)
		return;
	int saved_errno = errno;
	bp_hot.busy = 1;
	(void)ensure_started(environment);
	bp_hot.busy = 0;
	errno = saved_errno;
}

/* ---- fork ---- */

void bp_recorder_fork_prepare(void)
{
	if (bp_hot.forking > 0) {
		/* A handler of a signal that came between the handlers of another fork: theirs are
		 * the locks, some of which may still be to be taken. */
		bp_hot.forking++;
		return;
	}
	/* A signal handler that interrupted a visit may be the one that forks: this thread may hold
	 * locks. And a child that nobody has met yet may have inherited held ones. Their children
	 * are left to the mark. */
	if (bp_hot.busy || bp_recorder.seal == BP_SEAL_ALL)
		return;
	bp_attach_lock();
	if (bp_recorder.mode != BP_MODE_ON || *bp_recorder.fork_mark == 0) {
		bp_attach_unlock();
		return;
	}
	bp_hot.busy = bp_hot.forking = 1;
	bp_verify_lock();
	bp_threads_lock();
	bp_labels_lock();
	bp_pools_lock();
	bp_python_places_lock();
	bp_modules_lock();
	bp_live_lock();
	bp_slot_lock_all();
	bp_writer_lock_all(&bp_recorder.writer);
}

static void unlock_all(void)
{
	bp_writer_unlock_all(&bp_recorder.writer);
	bp_slot_unlock_all();
	bp_live_unlock();
	bp_modules_unlock();
	bp_python_places_unlock();
	bp_pools_unlock();
	bp_labels_unlock();
	bp_threads_unlock();
	bp_verify_unlock();
	bp_attach_unlock();
}

void bp_recorder_fork_parent(void)
{
	if (bp_hot.forking != 1) {
		bp_hot.forking -= bp_hot.forking > 1;
		return;
	}
	bp_recorder.forks++;
	unlock_all();
	bp_hot.busy = bp_hot.forking = 0;
}

/* Everything that a child must not share with its parent. */
static void become_child(bool unmarked)
{
	struct bp_trace_state *parent = bp_writer_state(&bp_recorder.writer);
	/* Its place among its parent's children, for a key of its own: those that no handler saw
	 * count themselves, from the other end. Several at a time come in any order. */
	bp_recorder.forks = unmarked ? ~(uint32_t)__atomic_fetch_add(
					       &parent->unmarked_children, 1, __ATOMIC_RELAXED)
				     : bp_recorder.forks + 1;
	bp_control_inherit(parent);
	__builtin_memset(&bp_recorder.writer, 0, sizeof bp_recorder.writer);
	bp_recorder.ended = false;
	(void)bp_lock_reset(&end_lock);
	*bp_recorder.fork_mark = 1;
	bool wanted = config.follow_pid == 0 || config.follow_pid == bp_system_pid();
	if (!wanted || bp_recorder.seal >= BP_SEAL_CHILDREN || !begin_trace(true, unmarked)) {
		if (wanted)
			__atomic_fetch_add(&parent->lost[BP_LOSS_CHILD_TRACE], 1, __ATOMIC_RELAXED);
		bp_recorder.mode = BP_MODE_OFF;
	}
	if (bp_recorder.is_late) /* its calls are bound where its parent's are */
		bp_recorder_covers((uint32_t)parent->objects, (uint32_t)parent->covered_objects);
	const uintptr_t page = bp_system_page_of((uintptr_t)parent);
	bp_system_unmap((void *)page, (uintptr_t)parent + 4096 - page);
	forget_trace();
	bp_listeners_after_fork();
	bp_windows_after_fork();
	bp_verify_after_fork();
	bp_recorder.inside = unmarked && bp_recorder.is_late; /* found out in a visit */
	if (bp_recorder.mode != BP_MODE_ON)
		return;
	bp_threads_after_fork();
	bp_python_describe(&bp_recorder.writer);
}

void bp_recorder_fork_child(void)
{
	int saved_errno = errno;
	bool nested = bp_hot.forking > 1;
	bp_hot.forking -= nested;
	if (bp_hot.forking > 0 && !nested) {
		unlock_all();
		become_child(false);
		bp_hot.busy = bp_hot.forking = 0;
	} else if (bp_recorder.mode == BP_MODE_ON && bp_hot.busy) {
		/* The visit or fork that was interrupted goes on here, too: into memory of its
		 * own. */
		bp_writer_replace_mappings(&bp_recorder.writer);
	} else if (bp_recorder.mode != BP_MODE_ON && !bp_hot.busy) {
		bp_attach_after_fork();
	}
	errno = saved_errno;
}

void bp_recorder_unmarked_child(uint64_t charged)
{
	bp_live_after_fork();
	bp_slot_after_fork();
	become_child(true);
	bp_hot.counters.trials_left -= charged;
	bp_hot.counters.objects += charged != 0;
}

/* ---- the end, exec, and the rest ---- */

/* Is this the process the trace belongs to (and not a vfork child in its memory)? */
static bool is_own_process(void)
{
	return bp_recorder.mode == BP_MODE_ON && bp_recorder.seal != BP_SEAL_ALL &&
	       *bp_recorder.fork_mark != 0 && bp_system_pid() == bp_recorder.pid;
}

static void store_end(
	struct bp_trace_state *state, const struct bp_totals *totals, enum bp_end_reason reason)
{
	state->end_trials = totals->trials;
	state->end_objects = totals->objects;
	state->unoffered_trials = totals->unoffered_trials;
	state->unoffered_objects = totals->unoffered_objects;
	state->open_threads = totals->open_threads;
	state->open_trials = totals->open_trials;
	state->end_time_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	state->last_sequence = bp_recorder.sequence;
	state->own_bytes = bp_arena_bytes() + bp_slot_bytes() + bp_verify_bytes();
	if (reason != BP_END_NONE)
		state->end_reason = reason;
	__atomic_store_n(&state->state, 1, __ATOMIC_RELEASE);
}

/* The time between two looks at the other threads, at the first end: whoever allocates at that
 * moment is found out by them. */
#define LOOKS_APART_NS 20000u

static bool look_at_threads(struct bp_totals *ret_totals, bool wait)
{
	if (!bp_threads_totals(ret_totals, wait))
		return false;
	if (bp_recorder.ended || !ret_totals->has_others)
		return true;
	const uint64_t since_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	while (bp_system_time_ns(CLOCK_MONOTONIC) - since_ns < LOOKS_APART_NS)
		;
	return bp_threads_totals(ret_totals, wait);
}

/* What is written is of one thread, the last to look. False: not now, for the lock, or that of
 * bp_threads_totals, is held, and `wait` is false. */
static bool write_end(enum bp_end_reason reason, bool wait)
{
	struct bp_totals totals;
	if (wait)
		bp_lock_take(&end_lock);
	else if (!bp_lock_try(&end_lock))
		return false;
	const bool looked = bp_recorder.writer.head != NULL && look_at_threads(&totals, wait);
	if (looked)
		store_end(bp_writer_state(&bp_recorder.writer), &totals, reason);
	bp_lock_release(&end_lock);
	return looked;
}

/* Every allocation of the calling thread comes to the recorder from now on: `ended` is set. */
static void publish_each(void)
{
	struct bp_visit visit;
	if (bp_hot.thread != NULL && bp_visit_begin(&visit, 0))
		bp_visit_end(&visit, visit.left);
}

/* Will the calling thread, which is busy, never come out of its visit? */
static bool is_lost(enum bp_end_reason reason)
{
	/* (A thread that has just ended in order has no block and has made nothing since.) */
	if (reason == BP_END_NONE)
		return bp_hot.thread != NULL ? bp_hot.thread->lost : bp_hot.counters.objects != 0;
	return reason != BP_END_EXEC; /* which may fail */
}

void bp_recorder_end(enum bp_end_reason reason)
{
	if (!is_own_process())
		return;
	if (bp_hot.busy) {
		/* From the end of a visit, to bring the totals up to date. Or from a signal handler
		 * that ends the process inside a visit, or after one left it by a jump. */
		const bool lost = is_lost(reason) && bp_thread_lose();
		if ((lost || reason == BP_END_NONE) && write_end(reason, !lost))
			bp_recorder.ended = true;
		return;
	}
	int saved_errno = errno;
	bp_hot.busy = 1;
	bp_writer_try_again(&bp_recorder.writer, UINT64_MAX);
	(void)write_end(reason, true);
	if (reason != BP_END_EXEC)
		bp_recorder.ended = true;
	bp_hot.busy = 0;
	if (bp_recorder.ended)
		publish_each();
	errno = saved_errno;
}

void bp_recorder_end_late(void)
{
	bp_writer_try_again(&bp_recorder.writer, UINT64_MAX);
	(void)write_end(BP_END_DETACHED, true);
	bp_lock_take(&end_lock); /* of a thread that ends the process at this moment */
	bp_writer_close(&bp_recorder.writer);
	bp_lock_release(&end_lock);
}

__attribute__((destructor)) static void on_exit_of_process(void)
{
	bp_recorder_end(BP_END_EXIT);
}

void bp_recorder_end_failed(void)
{
	if (!is_own_process())
		return;
	struct bp_trace_state *state = bp_writer_state(&bp_recorder.writer);
	state->end_reason = BP_END_NONE;
	__atomic_store_n(&state->state, 0, __ATOMIC_RELEASE);
}
