/* SPDX-License-Identifier: MIT */
/*
 * Control flow that leaves frames behind: longjmp out of nested calls and out of signal handlers,
 * and coroutines on stacks of their own (ucontext) that allocate while the unwinder sees a stack it
 * does not know. Contents are checked throughout.
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "check.h"

static jmp_buf target;
static sigjmp_buf signal_target;

static void nested(int depth, uint64_t *seed);
static void (*volatile next_call)(int, uint64_t *) = nested;

static void nested(int depth, uint64_t *seed)
{
	char *p = malloc(random_between(seed, 1, 2000));
	CHECK(p != NULL);
	p[0] = (char)depth;
	KEEP(p);
	free(p);
	if (depth == 0)
		longjmp(target, 1);
	next_call(depth - 1, seed);
	KEEP(seed);
}

static void handler(int number)
{
	void *p = malloc((size_t)number * 100);
	KEEP(p);
	free(p);
	siglongjmp(signal_target, 1);
}

static ucontext_t main_context, coroutines[4];
static char stacks[4][65536] __attribute__((aligned(16)));

static void coroutine(int number)
{
	uint64_t seed = (uint64_t)number + 1;
	for (int i = 0; i < 300; i++) {
		size_t size = random_between(&seed, 1, 4000);
		unsigned char *p = malloc(size);
		CHECK(p != NULL);
		memset(p, i, size);
		CHECK(swapcontext(&coroutines[number], &main_context) == 0);
		CHECK(p[size - 1] == (unsigned char)i);
		free(p);
	}
}

static void prepare(int number)
{
	ucontext_t *context = &coroutines[number];
	CHECK(getcontext(context) == 0);
	context->uc_stack.ss_sp = stacks[number];
	context->uc_stack.ss_size = sizeof(stacks[number]);
	context->uc_link = &main_context;
	makecontext(context, (void (*)(void))coroutine, 1, number);
}

static void run_coroutines(void)
{
	for (int i = 0; i < 4; i++)
		prepare(i);
	for (int round = 0; round < 301; round++)
		for (int i = 0; i < 4; i++)
			CHECK(swapcontext(&main_context, &coroutines[i]) == 0);
}

__attribute__((noinline)) static void run_jumps(void)
{
	uint64_t seed = 3;
	for (volatile int i = 0; i < 200; i++)
		if (setjmp(target) == 0)
			nested(i % 30, &seed);
	signal(SIGUSR1, handler);
	for (volatile int i = 0; i < 200; i++)
		if (sigsetjmp(signal_target, 1) == 0)
			raise(SIGUSR1);
}

int main(void)
{
	run_jumps();
	run_coroutines();
	puts("done");
	return 0;
}
