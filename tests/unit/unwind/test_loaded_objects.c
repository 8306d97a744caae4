/* SPDX-License-Identifier: MIT */
/*
 * The table of loaded objects that stands in for _dl_find_object, compared with it: for addresses
 * all over the process, after libraries came and went, and while another thread opens and closes
 * them. Skipped where the loader has no _dl_find_object.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unwind/loaded_objects.h"

#define PAGE ((uintptr_t)4096)
#define ROUNDS 3000 /* four tables each */
#define READERS 4u
#define FIXED 5u

extern int find_object(void *address, void *ret_found) __asm__("_dl_find_object")
	__attribute__((weak));

/* Both answers are the same, or both find nothing. */
static bool agrees(uintptr_t address)
{
	struct bp_module_range ours = { 0 }, theirs = { 0 };
	const bool known = bp_module_range_known(address, &theirs);
	if (bp_loaded_objects_find(address, &ours) != known)
		return false;
	return ours.start == theirs.start && ours.end == theirs.end &&
	       ours.frame_header == theirs.frame_header && ours.link_map == theirs.link_map;
}

struct count {
	unsigned objects, addresses, different;
};

/* Every page that the object covers, some bytes beside it, and some addresses in no object. */
static int compare_object(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct count *count = context;
	uintptr_t low = UINTPTR_MAX, high = 0;
	(void)bytes;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		if (segment->p_type != PT_LOAD)
			continue;
		low = start < low ? start : low;
		high = start + segment->p_memsz > high ? start + segment->p_memsz : high;
	}
	for (uintptr_t at = (low & ~(PAGE - 1)) - PAGE; at < high + 2 * PAGE; at += PAGE / 4) {
		count->addresses++;
		count->different += !agrees(at);
	}
	for (uintptr_t at = high - 2; at <= high + 1; at++)
		count->different += !agrees(at);
	count->objects++;
	return 0;
}

static struct count compare_all(void)
{
	struct count count = { 0 };
	dl_iterate_phdr(compare_object, &count);
	return count;
}

static void *open_library(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY);
	if (library == NULL)
		fail_msg("%s", dlerror());
	return library;
}

static void nothing_before_the_first_look(void **state)
{
	struct bp_module_range range;
	(void)state;
	assert_false(bp_loaded_objects_find((uintptr_t)nothing_before_the_first_look, &range));
}

static void the_same_everywhere(void **state)
{
	(void)state;
	bp_loaded_objects_look();
	void *heap = malloc(100);
	assert_true(agrees(0) && agrees(1) && agrees(UINTPTR_MAX) && agrees((uintptr_t)heap) &&
		    agrees((uintptr_t)&heap));
	free(heap);
	const struct count count = compare_all();
	assert_true(count.objects >= 5 && count.addresses > 2000);
	assert_int_equal(count.different, 0);
}

static void libraries_come_and_go(void **state)
{
	struct bp_module_range range;
	(void)state;
	bp_loaded_objects_look();
	void *library = open_library("libwalked-plugin-large.so");
	const uintptr_t inside = (uintptr_t)dlsym(library, "walked_plugin");
	assert_false(bp_loaded_objects_find(inside, &range)); /* of the last look */
	bp_loaded_objects_look();
	assert_true(bp_loaded_objects_find(inside, &range));
	assert_int_equal(compare_all().different, 0);
	dlclose(library);
	bp_loaded_objects_look();
	assert_false(bp_loaded_objects_find(inside, &range));
	assert_int_equal(compare_all().different, 0);
}

/* Addresses of objects that stay, and what is right for each. */
static struct {
	uintptr_t address;
	struct bp_module_range range;
} fixed[FIXED];
static bool is_over;
static unsigned asked;

static bool is_right(unsigned i)
{
	struct bp_module_range range;
	return bp_loaded_objects_find(fixed[i].address, &range) &&
	       range.start == fixed[i].range.start && range.end == fixed[i].range.end &&
	       range.frame_header == fixed[i].range.frame_header &&
	       range.link_map == fixed[i].range.link_map;
}

/* A reader that makes no table; returns how often it was answered wrongly. */
static void *read_only(void *context)
{
	uintptr_t wrong = 0;
	(void)context;
	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
		for (unsigned i = 0; i < FIXED; i++)
			wrong += !is_right(i);
		__atomic_fetch_add(&asked, FIXED, __ATOMIC_RELEASE);
	}
	return (void *)wrong;
}

/* One that makes tables, too. */
static void *look_and_read(void *context)
{
	uintptr_t wrong = 0;
	(void)context;
	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
		bp_loaded_objects_look();
		for (unsigned i = 0; i < FIXED; i++)
			wrong += !is_right(i);
	}
	return (void *)wrong;
}

static void note_fixed(void)
{
	const uintptr_t addresses[FIXED] = { (uintptr_t)note_fixed,
		(uintptr_t)dlsym(RTLD_DEFAULT, "qsort"),
		(uintptr_t)dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests"),
		(uintptr_t)dlsym(RTLD_DEFAULT, "_dl_find_object"),
		(uintptr_t)bp_loaded_objects_look };
	for (unsigned i = 0; i < FIXED; i++) {
		fixed[i].address = addresses[i];
		assert_true(bp_module_range_known(addresses[i], &fixed[i].range));
	}
}

/* What stays loaded is found at every moment, by readers that make no tables and by one that does,
 * while this thread makes them as well. */
static void while_others_come_and_go(void **state)
{
	void *(*const work[READERS])(void *) = { look_and_read, read_only, read_only, read_only };
	pthread_t threads[READERS];
	uintptr_t wrong = 0;
	(void)state;
	note_fixed();
	bp_loaded_objects_look();
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work[i], NULL), 0);
	for (int i = 0; i < ROUNDS; i++) {
		void *small = open_library("libwalked-plugin-small.so");
		bp_loaded_objects_look();
		void *large = open_library("libwalked-plugin-large.so");
		bp_loaded_objects_look();
		dlclose(small);
		bp_loaded_objects_look();
		dlclose(large);
		bp_loaded_objects_look();
	}
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < READERS; i++) {
		void *result;
		assert_int_equal(pthread_join(threads[i], &result), 0);
		wrong += (uintptr_t)result;
	}
	assert_true(asked > 100000);
	assert_int_equal(wrong, 0);
	assert_int_equal(compare_all().different, 0);
}

static uint32_t held; /* 1: the loader's lock is held; 2: it may be released */

static int hold(struct dl_phdr_info *info, size_t bytes, void *context)
{
	(void)info, (void)bytes, (void)context;
	__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&held, __ATOMIC_ACQUIRE) != 2)
		usleep(100);
	return 1;
}

static void *hold_the_lock(void *context)
{
	dl_iterate_phdr(hold, context);
	return NULL;
}

/* A child whose parent had another thread with the loader's lock: it reads the table, and does not
 * wait. */
static void in_a_child_without_the_lock(void **state)
{
	pthread_t thread;
	int status = -1;
	(void)state;
	note_fixed();
	bp_loaded_objects_look();
	assert_int_equal(pthread_create(&thread, NULL, hold_the_lock, NULL), 0);
	while (__atomic_load_n(&held, __ATOMIC_ACQUIRE) != 1)
		usleep(100);
	const pid_t child = fork();
	if (child == 0) {
		alarm(10);
		bp_loaded_objects_after_fork();
		bp_loaded_objects_look();
		_exit(is_right(0) && is_right(1) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	__atomic_store_n(&held, 2, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_before_the_first_look),
		cmocka_unit_test(the_same_everywhere),
		cmocka_unit_test(libraries_come_and_go),
		cmocka_unit_test(while_others_come_and_go),
		cmocka_unit_test(in_a_child_without_the_lock),
	};
	if (find_object == NULL)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
