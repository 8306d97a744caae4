/* SPDX-License-Identifier: MIT */
/*
 * Signal handlers that allocate. A handler may do so when it did not interrupt libc's malloc; here
 * it looks at the interrupted program counter and allocates only if that lies outside libc and the
 * loader, which is legal without a recorder, and with one lets the handler in at every instruction
 * of the recorder itself. A timer fires every 50 us while the main program allocates; other
 * handlers run on an alternate stack, and synchronously by raise().
 */
#include <link.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "check.h"

struct range {
	uintptr_t start, end;
};

static struct range forbidden[8];
static int forbidden_count;
static volatile int handled, allocated;

static int note_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)size;
	(void)argument;
	if (!strstr(info->dlpi_name, "libc.so") && !strstr(info->dlpi_name, "ld-linux") &&
		!strstr(info->dlpi_name, "vdso"))
		return 0;
	struct range range = { UINTPTR_MAX, 0 };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		uintptr_t end = start + info->dlpi_phdr[i].p_memsz;
		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		range.start = start < range.start ? start : range.start;
		range.end = end > range.end ? end : range.end;
	}
	CHECK(forbidden_count < 8);
	forbidden[forbidden_count++] = range;
	return 0;
}

static void use_memory(void)
{
	void *p = malloc(100), *q = malloc(5000);
	CHECK(p && q);
	memset(p, 1, 100);
	free(q);
	p = realloc(p, 200);
	CHECK(p != NULL);
	free(p);
}

static void handler(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	handled++;
	for (int i = 0; i < forbidden_count; i++)
		if (pc >= forbidden[i].start && pc < forbidden[i].end)
			return;
	allocated++;
	use_memory();
}

static void synchronous(int number)
{
	(void)number;
	use_memory();
}

static timer_t start_timer(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	struct itimerspec every = { { 0, 50000 }, { 0, 50000 } };
	CHECK(timer_settime(timer, 0, &every, NULL) == 0);
	return timer;
}

int main(void)
{
	static char alternate[65536];
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	CHECK(sigaltstack(&stack, NULL) == 0);
	struct sigaction action = { .sa_handler = synchronous, .sa_flags = SA_ONSTACK };
	CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
	dl_iterate_phdr(note_object, NULL);
	timer_t timer = start_timer();
	struct timespec start, now;
	clock_gettime(CLOCK_MONOTONIC, &start);
	uint64_t seed = 5;
	char *kept[64] = { 0 };
	do {
		for (int i = 0; i < 500; i++) {
			int slot = i % 64;
			free(kept[slot]);
			kept[slot] = malloc(random_between(&seed, 0, 3000));
			CHECK(kept[slot] != NULL);
		}
		raise(SIGUSR2);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) * 1e-9 < 0.25);
	/* What is made after the end of the counts is not in them. */
	CHECK(timer_delete(timer) == 0);
	CHECK(handled > 100 && allocated > 5);
	puts("done");
	return 0;
}
