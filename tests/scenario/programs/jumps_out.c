/* SPDX-License-Identifier: MIT */
/*
 * A signal handler leaves the recorder for good while a visit is under way: by siglongjmp in the
 * main thread or in another one, which then goes on allocating, or by ending the process (argument:
 * main, thread, exit). Whether it interrupted the recorder it learns from bytepoll_snapshot, which
 * refuses then. Otherwise it returns, so that nothing else is left half-way; nor is libc, called by
 * the recorder. Nobody else allocates afterwards, because the one that is gone may hold locks. In
 * the end one line: the bytes and objects that were asked for, but for those of libc. Without the
 * recorder there is nothing to leave.
 */
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include "bytepoll/bytepoll.h"

#include "check.h"

static __thread sigjmp_buf target;
static __thread volatile int is_armed;
static volatile uint64_t asked_bytes, asked_objects;
static volatile int by_exit;

static void print(void)
{
	char line[80];
	const int length = snprintf(line, sizeof line, "%llu bytes, %llu objects\n",
		(unsigned long long)asked_bytes, (unsigned long long)asked_objects);
	CHECK(write(1, line, (size_t)length) == length);
}

static uintptr_t recorder_start, recorder_end;

/* Finds the object that `wanted` lies in. */
static int note_recorder(struct dl_phdr_info *info, size_t size, void *wanted)
{
	uintptr_t start = UINTPTR_MAX, end = 0;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const uintptr_t at = info->dlpi_addr + header->p_vaddr;
		if (header->p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + header->p_memsz > end ? at + header->p_memsz : end;
	}
	if ((uintptr_t)wanted < start || (uintptr_t)wanted >= end)
		return 0;
	recorder_start = start;
	recorder_end = end;
	return 1;
}

static void handler(int number, siginfo_t *info, void *context)
{
	struct bp_snapshot snapshot;
	const uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	(void)number, (void)info;
	if (!is_armed || pc < recorder_start || pc >= recorder_end ||
		bytepoll_snapshot(&snapshot, sizeof snapshot))
		return;
	if (by_exit) {
		print();
		exit(0);
	}
	is_armed = 0;
	siglongjmp(target, 1);
}

static void allocate(size_t size)
{
	asked_bytes = asked_bytes + size;
	asked_objects = asked_objects + 1;
	void *object = malloc(size);
	CHECK(object != NULL);
	KEEP(object);
}

/* Until a signal comes while the recorder is at work. */
static void be_interrupted(void)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	if (sigsetjmp(target, 1) == 0) {
		CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
		/* By then the stack and its modules are known: what looks for them holds the
		 * loader's lock, without which the process could not end. */
		for (int i = 0; bytepoll_snapshot != NULL; i++) {
			is_armed = i > 20000;
			allocate(50);
		}
	}
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
}

static void *work(void *unused)
{
	allocate(1); /* not in the first visit, which makes the thread known */
	be_interrupted();
	for (int i = 0; i < 10000; i++)
		allocate(1000);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	sigset_t alarm;
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	CHECK(argc > 1 && sigaction(SIGALRM, &action, NULL) == 0);
	if (bytepoll_snapshot != NULL)
		CHECK(dl_iterate_phdr(note_recorder, (void *)bytepoll_snapshot) == 1);
	by_exit = strcmp(argv[1], "exit") == 0;
	if (strcmp(argv[1], "thread") == 0) {
		sigemptyset(&alarm);
		sigaddset(&alarm, SIGALRM);
		CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
		/* The signal is the thread's. */
		CHECK(pthread_sigmask(SIG_BLOCK, &alarm, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	} else {
		work(NULL);
	}
	print();
	return 0;
}
