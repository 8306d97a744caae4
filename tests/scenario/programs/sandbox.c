/* SPDX-License-Identifier: MIT */
/*
 * A program that gives up system calls and goes on allocating. The arguments:
 *
 *   strict prctl|seccomp|syscall   SECCOMP_MODE_STRICT, by that road; ends by the system call exit
 *   filter kill|trap|errno ALLOWED [fork]   a filter that allows the calls of the list (numbers,
 *                                  comma separated) and answers the rest so
 *   refused                        filters that the kernel refuses: nothing is given up then
 *
 * Before that it allocates until the heap needs no system call any more; afterwards its results go
 * to a page shared with the process that waits for it, which prints them: what happened to the
 * contents of the objects. Ends with status 0 if nothing did.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

#define OBJECTS 2000
#define ROUNDS 40
#define FILTER_MAX 1000

static unsigned char *objects[OBJECTS];
static size_t sizes[OBJECTS];
static volatile int *bad; /* shared with the waiting process */

static void churn(uint64_t seed, int count)
{
	for (int i = 0; i < count; i++) {
		const size_t at = next_random(&seed) % OBJECTS;
		unsigned char *object = objects[at];
		if (object != NULL && (object[0] != (unsigned char)at ||
					      object[sizes[at] - 1] != (unsigned char)at))
			++*bad;
		/* Now and then one beyond 64 KiB, which is not in a slot when it is sampled. */
		const size_t size = random_between(&seed, 1, i % 50 ? 3000 : 80000);
		if (i % 3 == 0) {
			object = realloc(object, size);
		} else {
			free(object);
			object = malloc(size);
		}
		if (object == NULL) {
			++*bad;
			return;
		}
		object[0] = object[size - 1] = (unsigned char)at;
		objects[at] = object;
		sizes[at] = size;
	}
}

/* One heap, which grows now and never shrinks: no system call is left to make. */
static void prepare_heap(void)
{
	CHECK(mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_TRIM_THRESHOLD, 1 << 30) == 1);
	CHECK(mallopt(M_TOP_PAD, 64 << 20) == 1);
	char *large = malloc(64 << 20);
	CHECK(large != NULL);
	memset(large, 1, 64 << 20);
	free(large);
}

static void strict(const char *road)
{
	long result;
	if (strcmp(road, "prctl") == 0)
		result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (strcmp(road, "seccomp") == 0)
		result = syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
	else
		result = syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
	if (result != 0)
		++*bad;
}

static void install(const char *action, const char *allowed)
{
	struct sock_filter filter[FILTER_MAX];
	const uint32_t otherwise = strcmp(action, "kill") == 0	 ? SECCOMP_RET_KILL_PROCESS
				   : strcmp(action, "trap") == 0 ? SECCOMP_RET_TRAP
								 : SECCOMP_RET_ERRNO | EPERM;
	unsigned short count = 0;
	filter[count++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (const char *at = allowed; *at != '\0' && count + 4 < FILTER_MAX;) {
		char *end;
		const unsigned long number = strtoul(at, &end, 10);
		filter[count++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
		filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		at = *end == ',' ? end + 1 : end;
	}
	filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	const struct sock_fprog program = { .len = count, .filter = filter };
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}

static void refused(void)
{
	struct sock_filter empty;
	const struct sock_fprog none = { .len = 0, .filter = &empty };
	errno = 0;
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (void *)16) == -1);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &none) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 77, NULL) == -1 && errno == EINVAL);
	CHECK(prctl(PR_SET_SECCOMP, 99) == -1 && errno == EINVAL);
}

static void *in_thread(void *argument)
{
	churn(77, 2000);
	return argument;
}

static void in_others(const char *how)
{
	if (strcmp(how, "thread") == 0) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, in_thread, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	} else if (strcmp(how, "fork") == 0) {
		const pid_t pid = fork();
		CHECK(pid >= 0);
		churn(78, 2000);
		if (pid == 0)
			_exit(0);
		int status = 1;
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

static int inmate(int argument_count, char **arguments)
{
	churn(3, 20000);
	prepare_heap();
	churn(4, 20000);
	if (strcmp(arguments[1], "strict") == 0)
		strict(arguments[2]);
	else if (strcmp(arguments[1], "filter") == 0)
		install(arguments[2], arguments[3]);
	else
		refused();
	for (int i = 0; i < ROUNDS; i++)
		churn((uint64_t)i + 5, 1000);
	if (argument_count > 4)
		in_others(arguments[4]);
	churn(6, 1000);
	if (strcmp(arguments[1], "strict") == 0)
		syscall(SYS_exit, 0); /* exit_group is not allowed */
	return 0;
}

int main(int argument_count, char **arguments)
{
	CHECK(argument_count >= 2);
	bad = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(bad != MAP_FAILED);
	const pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		return inmate(argument_count, arguments);
	int status = 0;
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("status %d, %d bad\n", status, *bad);
	return status != 0 || *bad != 0;
}
