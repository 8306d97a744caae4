/* SPDX-License-Identifier: MIT */
/* See refusals.h. A list of checks, from what the process is to what the system allows. */
#include "cli/attach/refusals.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/attributes.h"
#include "cli/attach/filters.h"
#include "cli/attach/inside.h"
#include "cli/attach/rights.h"
#include "cli/process/elf_file.h"
#include "cli/process/processes.h"
#include "cli/run/program.h"
#include "model/gaps/unseen.h"

struct subject {
	pid_t pid;
	bool inside;			      /* our files need not be seen */
	char image[64];			      /* its executable, by way of /proc */
	char link[PATH_MAX];		      /* the same by its own path */
	char status[BP_PROCESS_STATUS_BYTES]; /* /proc/PID/status */
};

static bool is_there(struct subject *subject, struct bp_error *error)
{
	const int descriptor = bp_process_status_open(subject->pid);
	const bool read = descriptor >= 0 && bp_process_status_read(descriptor, subject->status);
	if (descriptor >= 0)
		close(descriptor);
	return read || bp_error_set(error, "there is no process %ld", (long)subject->pid);
}

static bool is_running(struct subject *subject, struct bp_error *error)
{
	struct bp_process_stat stat = { 0 };
	uint64_t tracer = 0;
	(void)bp_process_stat_read(subject->pid, &stat);
	(void)bp_process_status_numbers(subject->status, "TracerPid", &tracer, 1);
	if (tracer != 0)
		return bp_error_set(error,
			"process %ld is traced by process %ld (a debugger, strace): end that first",
			(long)subject->pid, (long)tracer);
	if (stat.state == 'Z' || stat.state == 'X')
		return bp_error_set(error, "process %ld has ended", (long)subject->pid);
	if (stat.state == 'T' || stat.state == 't')
		return bp_error_set(error, "process %ld is stopped: let it go on, kill -CONT %ld",
			(long)subject->pid, (long)subject->pid);
	return true;
}

bool bp_say_trace_refused(pid_t pid, struct bp_error *error)
{
	char scope[16] = "";
	FILE *yama = fopen(BP_YAMA_FILE, "re");
	if (yama != NULL) {
		if (fgets(scope, sizeof scope, yama) == NULL)
			scope[0] = '\0';
		fclose(yama);
	}
	return bp_trace_refused(pid, bp_yama_scope(scope), geteuid() == 0, error);
}

/* May its memory be written? The kernel asks the same of whoever stops a thread. */
static bool is_allowed(struct subject *subject, struct bp_error *error)
{
	uint64_t users[4] = { 0 };
	snprintf(subject->image, sizeof subject->image, "/proc/%ld/exe", (long)subject->pid);
	const ssize_t length = readlink(subject->image, subject->link, sizeof subject->link - 1);
	subject->link[length > 0 ? length : 0] = '\0';
	if (length < 0 && errno == ENOENT)
		return bp_error_set(
			error, "process %ld is a thread of the kernel", (long)subject->pid);
	(void)bp_process_status_numbers(subject->status, "Uid", users, BP_COUNT(users));
	if (geteuid() != 0 && users[0] != geteuid())
		return bp_error_set(error, "process %ld is another user's: be its owner or root",
			(long)subject->pid);
	/* An address that is never mapped: EFAULT comes after the question of rights. */
	char byte;
	const struct iovec own = { &byte, 1 }, its = { (void *)1, 1 };
	if (process_vm_readv(subject->pid, &own, 1, &its, 1, 0) >= 0 || errno != EPERM)
		return true;
	return bp_say_trace_refused(subject->pid, error);
}

static bool sees_our_files(struct subject *subject, struct bp_error *error)
{
	if (subject->inside || !bp_inside_is_elsewhere(subject->pid))
		return true;
	return bp_error_set(error,
		"process %ld has file systems of its own (a container, a chroot), where the "
		"recorder is not: attach with --copy-recorder DIR, a folder as the process has it, "
		"or install bytepoll in there, and attach from in there",
		(long)subject->pid);
}

static bool has_plain_returns(struct subject *subject, struct bp_error *error)
{
	if (!bp_has_shadow_stacks(subject->status))
		return true;
	return bp_error_set(error,
		"process %ld has shadow stacks, on which no call can be put: start it with "
		"GLIBC_TUNABLES=glibc.cpu.x86_shstk=off, or with bytepoll run",
		(long)subject->pid);
}

static bool is_of_a_kind(struct subject *subject, struct bp_error *error)
{
	struct bp_program program = { 0 };
	snprintf(program.path, sizeof program.path, "%s", subject->image);
	bp_program_examine(&program);
	if (bp_is_valgrind(subject->link))
		program.obstacle = BP_OBSTACLE_VALGRIND;
	if (program.is_32_bit)
		return bp_error_set(error, "process %ld is a 32-bit program: it is not profiled",
			(long)subject->pid);
	if (program.obstacle == BP_OBSTACLE_NONE || program.obstacle == BP_OBSTACLE_PRIVILEGED)
		return true;
	return bp_error_set(error, "process %ld cannot be attached to: its program %s",
		(long)subject->pid, bp_obstacle_text(program.obstacle));
}

static bool has_a_shared_malloc(struct subject *subject, struct bp_error *error)
{
	struct bp_elf_file file;
	if (!bp_elf_file_open(subject->image, &file, error))
		return false;
	const bool own = bp_elf_defines(&file, "malloc") != BP_ELF_UNDEFINED;
	bp_elf_file_close(&file);
	return !own || bp_error_set(error,
			       "the program of process %ld has a malloc of its own inside, whose "
			       "calls cannot be seen: build it with its allocator as a shared "
			       "library",
			       (long)subject->pid);
}

/* Last: a thread with a filter is stopped for a moment. */
static bool may_make_calls(struct subject *subject, struct bp_error *error)
{
	return bp_filters_permit(subject->pid, error);
}

bool bp_may_attach(pid_t pid, bool inside, struct bp_error *error)
{
	static bool (*const checks[])(struct subject *, struct bp_error *) = { is_there, is_running,
		is_allowed, sees_our_files, has_plain_returns, is_of_a_kind, has_a_shared_malloc,
		may_make_calls };
	static struct subject subject;
	subject.pid = pid;
	subject.inside = inside;
	for (size_t i = 0; i < BP_COUNT(checks); i++)
		if (!checks[i](&subject, error))
			return false;
	return true;
}
