/* SPDX-License-Identifier: MIT */
/*
 * The test build's probes. Two environment variables, read here alone:
 *
 *   BYTEPOLL_TEST_REPORT_FD=n   each committed sample's sequence number is written, as 8 bytes, to
 *                               descriptor n: a second process then knows what must be in the trace
 *   BYTEPOLL_TEST_COUNT=FILE    a counting allocator below the hooks: FILE (created, 16 bytes, mapped
 *                               shared) holds u64 objects and u64 bytes that were really requested of
 *                               malloc or placed in slots, successful requests only
 */
#include <fcntl.h>
#include <stdlib.h>

#include "base/system_call.h"
#include "recorder/config.h"
#include "recorder/probes.h"
#include "recorder/real.h"

static int report_descriptor = -1;
static struct bp_real below;
static struct {
	uint64_t objects, bytes;
} * count;

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
