/* SPDX-License-Identifier: MIT */
/*
 * The test build's probes. Environment variables, read here alone:
 *
 *   BYTEPOLL_TEST_REPORT_FD=n   each committed sample's sequence number is written, as 8 bytes, to
 *                               descriptor n: a second process then knows what must be in the trace
 *   BYTEPOLL_TEST_COUNT=FILE    a counting allocator below the hooks: FILE (created, 16 bytes,
 *                               mapped shared) holds u64 objects and u64 bytes that were really
 *                               requested of malloc or placed in slots, successful requests only;
 *                               behind them i64, slots in use at this moment
 *   BYTEPOLL_TEST_FAIL=k or k+  the k-th system call of those that can fail (counted from 1, over
 *                               all threads, from the very first on), or each from the k-th on,
 *                               fails with ENOMEM
 *   BYTEPOLL_TEST_FAILED=FILE   made when that happened
 */
#include <fcntl.h>
#include <stdlib.h>

#include "base/system_call.h"
#include "probes/test_points.h"
#include "recorder/real.h"
#include "start/config.h"

static int report_descriptor = -1;
static struct bp_real below;
static struct {
	uint64_t objects, bytes;
	int64_t slots;
} * count;

static int64_t slots_in_use;

static void add(const void *object, size_t bytes)
{
	if (object == NULL)
		return;
	__atomic_fetch_add(&count->objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&count->bytes, bytes, __ATOMIC_RELAXED);
}

static void *count_malloc(size_t size)
{
	void *object = below.malloc(size);
	add(object, size);
	return object;
}

static void *count_calloc(size_t number, size_t size)
{
	void *object = below.calloc(number, size);
	add(object, number * size);
	return object;
}

static void *count_realloc(void *old, size_t size)
{
	void *object = below.realloc(old, size);
	add(object, size);
	return object;
}

static void *count_memalign(size_t alignment, size_t size)
{
	void *object = below.memalign(alignment, size);
	add(object, size);
	return object;
}

static void *count_aligned_alloc(size_t alignment, size_t size)
{
	void *object = below.aligned_alloc(alignment, size);
	add(object, size);
	return object;
}

static int count_posix_memalign(void **ret_object, size_t alignment, size_t size)
{
	int error = below.posix_memalign(ret_object, alignment, size);
	if (error == 0)
		add(*ret_object, size);
	return error;
}

static void *count_valloc(size_t size)
{
	void *object = below.valloc(size);
	add(object, size);
	return object;
}

static void *count_pvalloc(size_t size)
{
	void *object = below.pvalloc(size);
	add(object, size);
	return object;
}

static void start_counting(const char *path)
{
	int descriptor = bp_system_open(path, O_RDWR | O_CREAT, 0600);
	if (descriptor < 0 || syscall(SYS_ftruncate, descriptor, 4096l) != 0)
		return;
	count = bp_system_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	bp_system_close(descriptor);
	if (count == NULL)
		return;
	count->slots = slots_in_use;
	below = bp_real;
	bp_real.malloc = count_malloc;
	bp_real.calloc = count_calloc;
	bp_real.realloc = count_realloc;
	bp_real.memalign = count_memalign;
	bp_real.aligned_alloc = count_aligned_alloc;
	bp_real.posix_memalign = count_posix_memalign;
	bp_real.valloc = count_valloc;
	bp_real.pvalloc = count_pvalloc;
}

void bp_probe_start(char **environment)
{
	const char *text = bp_config_find(environment, "BYTEPOLL_TEST_REPORT_FD");
	if (text != NULL)
		report_descriptor = atoi(text);
	text = bp_config_find(environment, "BYTEPOLL_TEST_COUNT");
	if (text != NULL)
		start_counting(text);
}

void bp_probe_sample(uint64_t sequence)
{
	if (report_descriptor >= 0)
		(void)!syscall(SYS_write, report_descriptor, &sequence, sizeof sequence);
}

void bp_probe_slot(size_t size)
{
	if (count != NULL)
		add(&size, size);
}

void bp_probe_slots_in_use(int change)
{
	__atomic_fetch_add(count != NULL ? &count->slots : &slots_in_use, change, __ATOMIC_RELAXED);
}

/* ---- failing system calls ---- */

/* volatile: the compiler is told that syscall never comes back to this file, but here it does. */
static volatile uint64_t fail_at; /* 0: none */
static volatile bool fail_on, fail_known, telling;
static uint32_t fallible_calls;
static const char *failed_path;

static void read_failure(void)
{
	fail_known = true; /* what follows may come here again */
	const char *text = bp_config_find(NULL, "BYTEPOLL_TEST_FAIL");
	uint64_t number = 0;
	for (; text != NULL && *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (uint64_t)(*text - '0');
	fail_on = text != NULL && *text == '+';
	failed_path = bp_config_find(NULL, "BYTEPOLL_TEST_FAILED");
	fail_at = number;
}

/* Those whose failure is no answer (a probe of memory, a signal 0) or no trouble are left out. */
static bool can_fail(long number)
{
	static const long numbers[] = { SYS_mmap, SYS_madvise, SYS_munmap, SYS_mprotect, SYS_openat,
		SYS_fstat, SYS_newfstatat, SYS_ftruncate, SYS_fallocate, SYS_read, SYS_readlinkat,
		SYS_mkdirat, SYS_getcwd, SYS_getrandom, SYS_prlimit64, SYS_memfd_create,
		SYS_prctl };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

bool bp_probe_fails(long number)
{
	if (!fail_known)
		read_failure();
	if (fail_at == 0 || telling || !can_fail(number))
		return false;
	const uint32_t call = __atomic_add_fetch(&fallible_calls, 1, __ATOMIC_RELAXED);
	if (call != fail_at && !(fail_on && call > fail_at))
		return false;
	if (failed_path != NULL && call == fail_at) {
		telling = true;
		bp_system_close(bp_system_open(failed_path, O_WRONLY | O_CREAT, 0600));
		telling = false;
	}
	errno = ENOMEM;
	return true;
}
