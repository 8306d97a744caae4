/* SPDX-License-Identifier: MIT */
/*
 * The walk under test against libgcc's (backtrace), frame by frame, from ordinary and from odd
 * places: many frame sizes, alloca, realigned frames, deep recursion, callbacks of libc, signal
 * handlers on both kinds of stack, threads, exceptions in flight, lazy binding; and from every
 * single instruction of some of these, by the processor's trace flag. Both walks are made in one
 * function, so that all frames but the innermost must agree to the bit. Nothing here is random.
 */
#include <dlfcn.h>
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
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "unwind/frame_rules.h"
#include "unwind/stack.h"
#include "walked.h"

#define FRAMES_MAX 1000

/* clang has no such attribute; these tests are run as gcc compiles them. */
#if __has_attribute(optimize)
#define KEEPS_FRAME_POINTER __attribute__((optimize("no-omit-frame-pointer")))
#else
#define KEEPS_FRAME_POINTER
#endif

static _Thread_local struct bp_stack_capture capture;
static volatile int walks, differing;
static char diff[400];
static volatile uint32_t last_depth, last_flags;
static volatile bool stepping; /* only the trap handler walks */
static bool uncompared;	       /* libgcc is not asked */
static const char *program;    /* beside it lie the libraries that are loaded */
static bool end_unmarked;      /* the outermost frame here does not say that it is */
static void note_difference(int index, int count, void *const *truth)
{
	if (differing++ > 0)
		return;
	snprintf(diff, sizeof diff, "walk %d: frame %d of %u (libgcc: %d) is %#lx, not %p", walks,
		index, capture.depth, count,
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
	if (uncompared) {
		walks++;
		return;
	}
	int count = backtrace(truth, FRAMES_MAX);
	const int kept = count < (int)BP_STACK_MAX_DEPTH ? count : (int)BP_STACK_MAX_DEPTH;
	walks++;
	last_depth = capture.depth;
	last_flags = capture.flags;
	if ((int)capture.depth != kept)
		note_difference(
			kept < (int)capture.depth ? kept : (int)capture.depth, count, truth);
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
		fail_msg("%d of %d walks differ; first: %s", differing, walks, diff);
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
#if defined __x86_64__
	assert_int_equal(walked_lazily(1), 2);
	check_walks(1);
#else
	/* The tables of glibc's aarch64 trampoline are 16 bytes off, and libgcc does not get past
	 * it (with signed addresses it crashes): what is known are the frames from here on. */
	void *truth[FRAMES_MAX];
	uncompared = true;
	assert_int_equal(walked_lazily(1), 2);
	uncompared = false;
	const int count = backtrace(truth, FRAMES_MAX), depth = (int)capture.depth;
	assert_true(walks == 1 && capture.flags == 0 && depth > count + 3);
	for (int i = 1; i < count; i++)
		assert_true(capture.pcs[depth - count + i] == (uint64_t)truth[i]);
#endif
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

/* A function that calls nobody, interrupted: on some machines it has no frame at all. */
static sigjmp_buf out_of_leaf;

static void on_fault(int number)
{
	(void)number;
	walked_here();
	siglongjmp(out_of_leaf, 1);
}

__attribute__((noinline)) static int leaf(const volatile int *pointer)
{
	return *pointer;
}

static void interrupted_leaf(void **state)
{
	struct sigaction action = { .sa_handler = on_fault };
	const volatile int *volatile nowhere = NULL;
	(void)state;
	assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
	if (sigsetjmp(out_of_leaf, 1) == 0)
		leaf(nowhere);
	signal(SIGSEGV, SIG_DFL);
	check_walks(1);
	assert_true(last_depth > 6);
}

/* ---- every instruction: where a program can trace itself ---- */

#if defined __x86_64__

static void on_trap(int number)
{
	(void)number;
	walk_and_compare();
	__asm__ volatile("" : : : "memory");
}

/* The unwind tables must know of the word that is pushed: these are walked through, too. */
#define SET_FLAGS(operation)                                                \
	__asm__ volatile("pushfq\n\t.cfi_adjust_cfa_offset 8\n\t" operation \
			 ", (%%rsp)\n\tpopfq\n\t.cfi_adjust_cfa_offset -8"  \
			 :                                                  \
			 :                                                  \
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
#endif

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
	for (volatile int i = 0; i < 3; i++) {
		char *stack = mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

/* No tables: found by the frame pointer. libgcc gives up there, so the truth is what was written
 * down. */
#if defined __x86_64__
/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
#define WRITTEN_RETURN 6
#else
/* stp x29, x30, [sp, -48]!; mov x29, sp; blr x0; ldp x29, x30, [sp], 48; ret: there is more of the
 * frame above the two words than a walker can know. */
static const uint32_t code[] = { 0xa9bd7bfd, 0x910003fd, 0xd63f0000, 0xa8c37bfd, 0xd65f03c0 };
#define WRITTEN_RETURN 12
#endif
static uint64_t written_return;

__attribute__((noinline)) static void below_written_code(void)
{
	bp_stack_capture(&capture);
	__asm__ volatile("" : : : "memory");
}

/* It keeps a frame pointer, as most code on machines does where nothing else tells what is above
 * the two words. */
KEEPS_FRAME_POINTER static void written_code(void **state)
{
	uint8_t *page = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)state;
	assert_true(page != MAP_FAILED);
	memcpy(page, code, sizeof code);
	__builtin___clear_cache((char *)page, (char *)page + sizeof code);
	written_return = (uint64_t)page + WRITTEN_RETURN;
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

#if defined __x86_64__ /* with code written for it */
/* A frame pointer that leads to a word which no call put there: the walk must end, not invent. */
static void misleading_frame_pointer(void **state)
{
	/* push rbp; mov rbp, rsi; call rdi; pop rbp; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xf5, 0xff, 0xd7, 0x5d, 0xc3 };
	uint8_t *memory = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)state;
	assert_true(memory != MAP_FAILED);
	uint8_t *page = memory + 64;
	memcpy(page, code, sizeof code);
	void (*volatile function)(void (*)(void), uint64_t *) =
		(void (*)(void (*)(void), uint64_t *))page;
	const uint64_t wrong[] = { (uint64_t)page, (uint64_t)page + 5, 0x1234, (uint64_t)&capture,
		(uint64_t)strlen, ~(uint64_t)0, (uint64_t)1 << 47 };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		volatile uint64_t frame[2] = { 0, wrong[i] };
		function(below_written_code, (uint64_t *)frame);
		assert_int_equal(capture.depth, 2);
		assert_int_equal(capture.flags, BP_STACK_ENDED);
	}
	/* The same with a right one goes on there. */
	volatile uint64_t frame[2] = { 0, (uint64_t)page + 6 };
	function(below_written_code, (uint64_t *)frame);
	assert_true(capture.depth >= 3 && capture.pcs[2] == (uint64_t)page + 6);
	munmap(memory, 4096);
}

/* ---- a return from signal handlers that has no tables ---- */

static struct bp_stack_capture in_handler;

static void on_signal_below_written_code(int number)
{
	(void)number;
	bp_stack_capture(&in_handler);
	__asm__ volatile("" : : : "memory");
}

static void written_signal_return(void **state)
{
	/* mov $15, %rax; syscall */
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	uint8_t *page = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct {
		void (*handler)(int);
		unsigned long flags;
		const uint8_t *restorer;
		uint64_t mask;
	} action = { on_signal_below_written_code, 0x04000000, page + 64, 0 };
	(void)state;
	assert_true(page != MAP_FAILED);
	memcpy(page + 64, code, sizeof code);
	assert_int_equal(syscall(SYS_rt_sigaction, SIGUSR2, &action, NULL, 8), 0);
	for (int i = 0; i < 2; i++) { /* the second time by what is remembered */
		raise(SIGUSR2);
		bp_stack_capture(&capture);
		assert_int_equal(in_handler.flags, 0);
		assert_true(in_handler.pcs[1] == (uint64_t)page + 64);
		assert_true((in_handler.exact_mask[0] & 7) == 4); /* what was interrupted */
		/* From the caller of this function on it is the stack of here. */
		assert_true(in_handler.depth > capture.depth + 2);
		for (uint32_t k = 1; k < capture.depth; k++)
			assert_true(in_handler.pcs[in_handler.depth - k] ==
				    capture.pcs[capture.depth - k]);
	}
	signal(SIGUSR2, SIG_DFL);
	munmap(page, 4096);
}

/* ---- code that goes, and other code in its place ---- */

/* The address to which walked_here returned, in the library just loaded. */
static uint64_t walk_in_library(const char *name)
{
	char path[4096];
	const char *slash = strrchr(program, '/');
	snprintf(path, sizeof path, "%.*s/%s", slash == NULL ? 1 : (int)(slash - program),
		slash == NULL ? "." : program, name);
	void *library = dlopen(path, RTLD_NOW);
	assert_non_null(library);
	bp_module_ranges_look(); /* an old loader's, since there were threads before */
	int (*function)(int);
	*(void **)&function = dlsym(library, "walked_plugin");
	assert_true(function != NULL && function(5) == 5 && function(6) == 6);
	assert_int_equal(dlclose(library), 0);
	bp_module_ranges_look(); /* as the hook of dlclose has it done */
	bp_stack_forget_rules();
	return capture.pcs[2];
}

static void other_code_in_its_place(void **state)
{
	(void)state;
	const uint64_t place = walk_in_library("libwalked-plugin-small.so");
	for (int i = 0; i < 3; i++) {
		assert_true(walk_in_library("libwalked-plugin-large.so") == place);
		assert_true(walk_in_library("libwalked-plugin-small.so") == place);
	}
	check_walks(14);
}

/* ---- a stack that the program supplied, and took back in part ---- */

#define SUPPLIED_BYTES ((size_t)1 << 20)
static char *supplied;

/* The walk from a stack whose every word is a return address with a frame of a kilobyte and
 * more. */
__attribute__((noinline)) static void capture_at(uint64_t *sp)
{
	struct bp_stack_capture *into = &capture;
	void (*function)(struct bp_stack_capture *) = bp_stack_capture;
	__asm__ volatile("movq %%rsp, %%rbx\n\tmovq %2, %%rsp\n\tcall *%1\n\tmovq %%rbx, %%rsp"
			 : "+D"(into), "+a"(function), "+S"(sp)
			 :
			 : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
}

static void *on_supplied_stack(void *argument)
{
	(void)argument;
	walked_alloca(300000); /* deep: half a megabyte becomes known */
	walked_sixty(1);
	const uint64_t large_frame = capture.pcs[3];
	bp_stack_capture(&capture);
	/* Nobody is deep now. A part of what lies below goes, and in its place comes a small
	 * stack. */
	char *hole = supplied + SUPPLIED_BYTES / 2;
	assert_int_equal(munmap(hole, 128 << 10), 0);
	uint64_t *small = mmap(hole, 32 << 10, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_true(small == (uint64_t *)hole);
	const size_t words = (32 << 10) / 8;
	for (size_t i = 0; i < words; i++)
		small[i] = large_frame;
	capture_at(small + words - 64);
	assert_int_equal(capture.flags, BP_STACK_ENDED);
	walked_sixty(1);
	return NULL;
}

static void supplied_stack(void **state)
{
	pthread_attr_t attributes;
	pthread_t thread;
	(void)state;
	supplied = mmap(
		NULL, SUPPLIED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(supplied != MAP_FAILED);
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstack(&attributes, supplied, SUPPLIED_BYTES), 0);
	assert_int_equal(pthread_create(&thread, &attributes, on_supplied_stack, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	check_walks(18);
	munmap(supplied, SUPPLIED_BYTES);
}
#endif

int main(int count, char **words)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frame_sizes, begin),
		cmocka_unit_test_setup(odd_frames, begin),
		cmocka_unit_test_setup(recursion, begin),
		cmocka_unit_test_setup(callbacks, begin),
		cmocka_unit_test_setup(exceptions, begin),
		cmocka_unit_test_setup(lazy_binding, begin),
		cmocka_unit_test_setup(signal_handlers, begin),
		cmocka_unit_test_setup(interrupted_leaf, begin),
		cmocka_unit_test_setup(threads, begin),
		cmocka_unit_test_setup(coroutine, begin),
		cmocka_unit_test_setup(written_code, begin),
#if defined __x86_64__
		cmocka_unit_test_setup(every_instruction, begin),
		cmocka_unit_test_setup(misleading_frame_pointer, begin),
		cmocka_unit_test_setup(written_signal_return, begin),
		cmocka_unit_test_setup(other_code_in_its_place, begin),
		cmocka_unit_test_setup(supplied_stack, begin),
#endif
	};
	void *first[10];
	program = count > 0 ? words[0] : "";
	(void)backtrace(first, 10); /* loads libgcc, which may not be done in a handler */
	bp_stack_init(true);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
