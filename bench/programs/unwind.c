/* SPDX-License-Identifier: MIT */
/*
 * unwind METHOD DEPTH PATHS ROUNDS [cold]: what one capture of a stack costs, by method.
 *
 *   nothing         an empty function: what measuring costs
 *   recorder        bp_stack_capture, of the library that is preloaded or linked
 *   frame-pointers  a loop over saved frame pointers; this program must be built with them
 *   libgcc          _Unwind_Backtrace
 *   libunwind       unw_backtrace, if the library can be opened
 *
 * Below `main` lie DEPTH calls through 60 functions in 30 pairs of different frame sizes; which of
 * a pair is called is a bit of the path, and paths are taken in turn. At the end of each the stack
 * is captured between two readings of the clock. `cold`: 24 MiB are read before each capture.
 *
 * Prints {"ns": ..., "frames": ..., "agree": ...}: the median, the frames found, and whether they
 * are libgcc's.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <unwind.h>

#include "slices.h"
#include "unwind/stack.h"

#define PATHS_MAX 4096
#define SWEEP_BYTES ((size_t)24 << 20)
#define FRAMES_MAX 256

static struct bp_stack_capture capture;
static void *frames[FRAMES_MAX];
static int (*unw_backtrace)(void **, int);
static struct slices slices;
static bool cold;

typedef int method(void);

__attribute__((noinline)) static int nothing(void)
{
	__asm__ volatile("" : : : "memory");
	return 0;
}

__attribute__((noinline)) static int recorder(void)
{
	bp_stack_capture(&capture);
	return (int)capture.depth;
}

__attribute__((noinline)) static int frame_pointers(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	int count = 0;
	while (count < FRAMES_MAX && frame[1] != 0) {
		uintptr_t *next = (uintptr_t *)frame[0];
		frames[count++] = (void *)frame[1];
		if (next <= frame || next > frame + 65536)
			break;
		frame = next;
	}
	return count;
}

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *argument)
{
	int *count = argument;
	if (*count == FRAMES_MAX)
		return _URC_END_OF_STACK;
	frames[(*count)++] = (void *)_Unwind_GetIP(context);
	return _URC_NO_REASON;
}

__attribute__((noinline)) static int libgcc(void)
{
	int count = 0;
	_Unwind_Backtrace(note, &count);
	return count > 0 && frames[count - 1] == NULL ? count - 1 : count;
}

__attribute__((noinline)) static int libunwind(void)
{
	return unw_backtrace(frames, FRAMES_MAX);
}

static const struct {
	const char *name;
	method *function;
} methods[] = { { "nothing", nothing }, { "recorder", recorder },
	{ "frame-pointers", frame_pointers }, { "libgcc", libgcc }, { "libunwind", libunwind } };
static method *measured;
static int found;

static void sweep(void)
{
	static volatile char *memory;
	static volatile unsigned long sum;
	if (memory == NULL) {
		memory = malloc(SWEEP_BYTES);
		memset((char *)memory, 1, SWEEP_BYTES);
	}
	for (size_t at = 0; at < SWEEP_BYTES; at += 64)
		sum = sum + (unsigned long)memory[at];
}

static uint64_t wall_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static void leaf(void)
{
	if (cold)
		sweep();
	const uint64_t start = wall_ns();
	found = measured();
	slices_add(&slices, wall_ns() - start, 1);
}

/* Does the recorder find what libgcc finds, but for the frames in here? */
static bool agrees(void)
{
	int truth = libgcc();
	(void)recorder();
	if ((int)capture.depth != truth)
		return false;
	for (int i = 1; i < truth - 1; i++) /* but for the two innermost */
		if ((void *)capture.pcs[capture.depth - (unsigned)i] != frames[truth - i])
			return false;
	return true;
}

typedef void level(unsigned depth, uint64_t path);
static level *const levels[60];
static bool checking, agree = true;

#define LEVEL(name, bytes)                                                                      \
	__attribute__((noinline)) static void name(unsigned depth, uint64_t path)               \
	{                                                                                       \
		volatile char frame[bytes];                                                     \
		frame[0] = 1;                                                                   \
		if (depth > 0)                                                                  \
			levels[depth % 30 * 2 + (path & 1)](depth - 1, path >> 1 | path << 63); \
		else if (checking)                                                              \
			agree = agree && agrees();                                              \
		else                                                                            \
			leaf();                                                                 \
		frame[bytes - 1] = frame[0];                                                    \
	}
#define PAIR(n) LEVEL(left##n, 8 + 16 * n) LEVEL(right##n, 24 + 8 * n)
/* clang-format off */
#define EACH_PAIR(X)                                                                              \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)     \
	X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29)
EACH_PAIR(PAIR)
/* clang-format on */
#define BOTH(n) left##n, right##n,
static level *const levels[60] = { EACH_PAIR(BOTH) };

int main(int count, char **words)
{
	static uint64_t bits[PATHS_MAX];
	uint64_t x = 88172645463325252u;
	if (count < 5)
		return 2;
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strcmp(words[1], methods[i].name) == 0)
			measured = methods[i].function;
	void *library = dlopen("libunwind.so.8", RTLD_NOW);
	if (library != NULL)
		*(void **)&unw_backtrace = dlsym(library, "unw_backtrace");
	if (measured == NULL || (measured == libunwind && unw_backtrace == NULL))
		return 3;
	const unsigned depth = (unsigned)strtoul(words[2], NULL, 10);
	const unsigned paths = (unsigned)strtoul(words[3], NULL, 10) % (PATHS_MAX + 1);
	const unsigned rounds = (unsigned)strtoul(words[4], NULL, 10);
	cold = count > 5 && strcmp(words[5], "cold") == 0;
	for (unsigned i = 0; i < paths; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		bits[i] = x ^= x << 17;
	}
	bp_stack_init();
	checking = true;
	for (unsigned i = 0; i < paths; i++)
		levels[0](depth, bits[i]);
	checking = false;
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned i = 0; i < paths; i++)
			levels[0](depth, bits[i]);
	printf("{\"ns\": %.1f, \"frames\": %d, \"agree\": %s}\n", slices_quantile(&slices, 0.5),
		found, agree ? "true" : "false");
	return 0;
}
