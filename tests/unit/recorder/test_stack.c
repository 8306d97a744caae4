/* SPDX-License-Identifier: MIT */
/*
 * The walk under test against libgcc's (backtrace), frame by frame, from ordinary and from odd
 * places: many frame sizes, alloca, realigned frames, deep recursion, callbacks of libc, signal
 * handlers on both kinds of stack, threads, exceptions in flight, lazy binding; and from every single
 * instruction of some of these, by the processor's trace flag. Both walks are made in one function,
 * so that all frames but the innermost must agree to the bit. Nothing here is random.
 */
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "recorder/stack.h"
#include "walked.h"

#define FRAMES_MAX 1000

static _Thread_local struct bp_stack_capture capture;
static volatile int walks, differing;
static char difference[400];
static volatile uint32_t last_depth, last_flags;
static volatile bool stepping; /* only the trap handler walks */
static bool end_unmarked;      /* the outermost frame here does not say that it is */

static void note_difference(int index, int count, void *const *truth)
{
	if (differing++ > 0)
		return;
	snprintf(difference, sizeof difference, "walk %d: frame %d of %u (libgcc: %d) is %#lx, not %p",
		walks, index, capture.depth, count,
		index < (int)capture.depth ? (long)capture.pcs[index] : 0L,
		index < count ? truth[index] : NULL);
}

static bool is_exact(int i)
{
	return (capture.exact_mask[i / 8] >> (i % 8) & 1) != 0;
}

/* Callable from signal handlers; failures are kept for the test to report. */
__attribute__((noinline)) static void walk_and_compare(void)
{
	static _Thread_local void *truth[FRAMES_MAX];
	bp_stack_capture(&capture);
	int count = backtrace(truth, FRAMES_MAX);
	const int kept = count < (int)BP_STACK_MAX_DEPTH ? count : (int)BP_STACK_MAX_DEPTH;
	walks++;
	last_depth = capture.depth;
	last_flags = capture.flags;
	if ((int)capture.depth != kept)
		note_difference(kept < (int)capture.depth ? kept : (int)capture.depth, count, truth);
	for (int i = 1; i < kept && i < (int)capture.depth; i++)
		if (capture.pcs[i] != (uint64_t)truth[i]) {
			note_difference(i, count, truth);
			break;
		}
	/* A walk that was cut says so, one that was not reached its end. */
	const uint32_t flags = count > (int)BP_STACK_MAX_DEPTH ? BP_STACK_CUT : 0;
	if (capture.flags != flags && !(end_unmarked && capture.flags == BP_STACK_ENDED))
		note_difference(-1, count, truth);
	__asm__ volatile("" : : : "memory");
}

void walked_here(void)
{
	if (!stepping)
		walk_and_compare();
	__asm__ volatile("" : : : "memory");
}

static void check_walks(int at_least)
{
	if (differing != 0)
		fail_msg("%d of %d walks differ; first: %s", differing, walks, difference);
	if (walks < at_least)
		fail_msg("%d walks, not %d", walks, at_least);
	print_message("# %d walks agree\n", walks);
}

static int begin(void **state)
{
	(void)state;
	walks = differing = 0;
	return 0;
}

static void frame_sizes(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		walked_sixty(i);
	check_walks(45);
	assert_true(last_depth > 60 && last_flags == 0);
}

static void odd_frames(void **state)
{
	(void)state;
	walked_alloca(10000);
	assert_true(walked_realigned(20) >= 0);
	walked_realigned_alloca(5000);
	check_walks(30);
}

static void recursion(void **state)
{
	(void)state;
	walked_recursion(100);
	assert_true(last_depth > 100 && last_depth < 256 && last_flags == 0);
	walked_recursion(300);
	assert_true(last_depth == 256 && last_flags == BP_STACK_CUT);
	/* The limit itself: a stack of 256 frames is whole, one of 257 is cut. */
	walked_recursion(1);
	const int others = (int)last_depth - 1;
	walked_recursion(256 - others);
	assert_true(last_depth == 256 && last_flags == 0);
	walked_recursion(257 - others);
	assert_true(last_depth == 256 && last_flags == BP_STACK_CUT);
	check_walks(5);
}

static int compare_numbers(const void *a, const void *b)
{
	walked_here();
	return *(const int *)a - *(const int *)b;
}

static void callbacks(void **state)
{
	int numbers[] = { 5, 3, 9, 1, 4, 8, 2, 7, 6, 0 }, key = 7;
	(void)state;
	qsort(numbers, 10, sizeof *numbers, compare_numbers);
	assert_non_null(bsearch(&key, numbers, 10, sizeof *numbers, compare_numbers));
	check_walks(20);
}

static void exceptions(void **state)
{
	(void)state;
	int made = walked_exceptions();
	assert_true(made > 50);
	check_walks(made);
}

static void lazy_binding(void **state)
{
	(void)state;
	assert_int_equal(walked_lazily(1), 2);
	check_walks(1);
	assert_int_equal(walked_lazily(1), 2);
}

/* ---- signals ---- */

static volatile bool saw_exact;

static void on_signal(int number)
{
	(void)number;
	walked_here();
	for (int i = 0; i < (int)capture.depth; i++)
		saw_exact |= is_exact(i);
}

static void set_handler(void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

static void signal_handlers(void **state)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
	(void)state;
	saw_exact = false;
	set_handler(on_signal, 0);
	raise(SIGUSR1);
	assert_true(saw_exact); /* the frame that was interrupted */
	assert_int_equal(sigaltstack(&alternate, NULL), 0);
	set_handler(on_signal, SA_ONSTACK);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	/* Back on the own stack, which must still be known. */
	walked_sixty(1);
	alternate.ss_flags = SS_DISABLE;
	assert_int_equal(sigaltstack(&alternate, NULL), 0);
	check_walks(20);
}

/* ---- every instruction ---- */

static void on_trap(int number)
{
	(void)number;
	walk_and_compare();
	__asm__ volatile("" : : : "memory");
}

/* The unwind tables must know of the word that is pushed: these are walked through, too. */
#define SET_FLAGS(operation)                                                                      \
	__asm__ volatile("pushfq\n\t.cfi_adjust_cfa_offset 8\n\t" operation                       \
			 ", (%%rsp)\n\tpopfq\n\t.cfi_adjust_cfa_offset -8"                         \
			 :                                                                        \
			 :                                                                        \
			 : "memory", "cc")

/* With the red zone in use, pushfq would write into it: in a function of its own, without. */
__attribute__((noinline, target("general-regs-only"))) static int step_through(int which)
{
	volatile char no_red_zone[256];
	int result = 0;
	no_red_zone[0] = 0;
	SET_FLAGS("orq $0x100");
	if (which == 0)
		result = walked_stepped(5);
	else if (which == 1)
		result = walked_realigned(0);
	else
		result = walked_alloca(60);
	SET_FLAGS("andq $~0x100");
	return result + no_red_zone[0];
}

/* Prologues, epilogues, linkage tables, and the first binding: each instruction. */
static void every_instruction(void **state)
{
	struct sigaction action = { .sa_handler = on_trap };
	(void)state;
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	for (int which = 0; which < 3; which++) {
		begin(NULL);
		stepping = true;
		step_through(which);
		stepping = false;
		check_walks(30);
	}
	signal(SIGTRAP, SIG_DFL);
}

/* ---- threads and other stacks ---- */

static void *in_thread(void *argument)
{
	walked_sixty(1);
	walked_recursion(*(int *)argument);
	return NULL;
}

static void threads(void **state)
{
	int depths[] = { 100, 300 };
	(void)state;
	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, in_thread, &depths[i]), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	check_walks(20);
}

static ucontext_t outside, inside;

static void in_coroutine(void)
{
	walked_sixty(1);
	walked_recursion(300);
	walked_realigned(3);
}

static void coroutine(void **state)
{
	const size_t bytes = 1 << 20;
	(void)state;
	for (int i = 0; i < 3; i++) {
		char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
		assert_true(stack != MAP_FAILED);
		assert_int_equal(getcontext(&inside), 0);
		inside.uc_stack.ss_sp = stack;
		inside.uc_stack.ss_size = bytes;
		inside.uc_link = &outside;
		makecontext(&inside, in_coroutine, 0);
		/* makecontext returns to a function's first instruction, before which there are no
		 * tables: to the walk that looks like a loss, to libgcc like the end. */
		end_unmarked = true;
		assert_int_equal(swapcontext(&outside, &inside), 0);
		end_unmarked = false;
		assert_int_equal(munmap(stack, bytes), 0);
	}
	check_walks(15);
}

/* ---- code in no module ---- */

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret. No tables: found by the frame pointer. libgcc
 * gives up there, so the truth is what was written down. */
static uint64_t written_return;

__attribute__((noinline)) static void below_written_code(void)
{
	bp_stack_capture(&capture);
	__asm__ volatile("" : : : "memory");
}

static void written_code(void **state)
{
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)state;
	assert_true(page != MAP_FAILED);
	memcpy(page, code, sizeof code);
	written_return = (uint64_t)page + 6;
	void (*volatile function)(void (*)(void)) = (void (*)(void (*)(void)))page;
	function(below_written_code);
	assert_true(capture.depth >= 4 && capture.flags == 0);
	assert_true(capture.pcs[1] == written_return);
	/* Behind it is this very function, and what called it. */
	void *truth[FRAMES_MAX];
	int count = backtrace(truth, FRAMES_MAX);
	assert_int_equal(capture.depth, count + 2);
	for (int i = 1; i < count; i++)
		assert_true(capture.pcs[i + 2] == (uint64_t)truth[i]);
	munmap(page, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frame_sizes, begin),
		cmocka_unit_test_setup(odd_frames, begin),
		cmocka_unit_test_setup(recursion, begin),
		cmocka_unit_test_setup(callbacks, begin),
		cmocka_unit_test_setup(exceptions, begin),
		cmocka_unit_test_setup(lazy_binding, begin),
		cmocka_unit_test_setup(signal_handlers, begin),
		cmocka_unit_test_setup(every_instruction, begin),
		cmocka_unit_test_setup(threads, begin),
		cmocka_unit_test_setup(coroutine, begin),
		cmocka_unit_test_setup(written_code, begin),
	};
	void *first[10];
	(void)backtrace(first, 10); /* loads libgcc, which may not be done in a handler */
	bp_stack_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
