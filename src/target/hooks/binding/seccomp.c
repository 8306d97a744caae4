/* SPDX-License-Identifier: MIT */
/*
 * prctl, and the C library's function syscall, by which seccomp is reached as well: before a
 * process gives up system calls the recorder gives up those (recorder/steering/seal.h). In strict
 * mode none is left that it could make. What a filter forbids the recorder finds out by
 * interpreting the filter's instructions for each call that it makes (seccomp_filter.c).
 *
 * Both functions take what they are given in registers, and a seventh word on the stack; so do
 * these, whatever the caller meant by its arguments, and go on with a jump. The recorder's own
 * system calls come through here as well, from its very first on.
 *
 * A filter that stands before the program begins (a service manager's, a container's) is not seen:
 * it has to allow what docs/recorder.md lists.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/attributes.h"
#include "base/seccomp_filter.h"
#include "base/system_call.h"
#include "hooks/binding/real_other.h"
#include "hooks/binding/seccomp.h"
#include "probes/test_points.h"
#include "recorder/recorder.h"

/* Declared with all their registers; the C library's own declarations have `...`. */
int bp_hook_prctl(int option, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) __asm__("prctl");
long bp_hook_syscall(long number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
	uintptr_t f) __asm__("syscall");

/* Can the bytes be read? By one word of each page: a probe of the kernel's features passes NULL. */
static bool is_readable(uintptr_t at, size_t bytes)
{
	for (uintptr_t page = at; page < at + bytes; page += 4096)
		if (!bp_system_readable(page))
			return false;
	return bp_system_readable(at + bytes - 8);
}

/* Before seccomp is asked for, in the numbers of the system call of that name. */
static enum bp_seal before_seccomp(uintptr_t operation, const struct sock_fprog *program)
{
	if (operation == SECCOMP_SET_MODE_STRICT)
		return bp_recorder_seal(BP_SEAL_ALL);
	if (operation != SECCOMP_SET_MODE_FILTER || bp_recorder.mode != BP_MODE_ON ||
		!is_readable((uintptr_t)program, sizeof *program) || program->len == 0 ||
		program->len > BP_FILTER_MAX ||
		!is_readable((uintptr_t)program->filter, program->len * sizeof *program->filter))
		return bp_recorder_seal(BP_SEAL_NONE);
	return bp_recorder_seal(bp_seccomp_forbids(program->filter, program->len));
}

/* The same of prctl, whose numbers are others. */
static enum bp_seal before_prctl(uintptr_t mode, uintptr_t program)
{
	return before_seccomp(mode == SECCOMP_MODE_STRICT   ? SECCOMP_SET_MODE_STRICT
			      : mode == SECCOMP_MODE_FILTER ? SECCOMP_SET_MODE_FILTER
							    : UINTPTR_MAX,
		(const struct sock_fprog *)program);
}

static long after(long result, enum bp_seal before)
{
	if (result < 0)
		bp_recorder_unseal(before);
	return result;
}

static BP_COLD int prctl_seccomp(int option, uintptr_t mode, uintptr_t program)
{
	const int saved_errno = errno;
	const enum bp_seal before = before_prctl(mode, program);
	errno = saved_errno;
	return (int)after(bp_real_others()->prctl(option, mode, program, 0, 0), before);
}

BP_EXPORT int bp_hook_prctl(int option, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
	if (bp_unlikely(option == PR_SET_SECCOMP))
		return prctl_seccomp(option, a, b);
	return bp_real_others()->prctl(option, a, b, c, d);
}

static BP_COLD long syscall_seccomp(long number, uintptr_t a, uintptr_t b, uintptr_t c)
{
	const int saved_errno = errno;
	const enum bp_seal before = number == SYS_prctl
					    ? before_prctl(b, c)
					    : before_seccomp(a, (const struct sock_fprog *)c);
	errno = saved_errno;
	return after(bp_real_syscall()(number, a, b, c, 0, 0, 0), before);
}

BP_EXPORT long bp_hook_syscall(
	long number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f)
{
	if (bp_unlikely(number == SYS_seccomp || (number == SYS_prctl && a == PR_SET_SECCOMP)))
		return syscall_seccomp(number, a, b, c);
	if (bp_probe_fails(number))
		return -1;
	return bp_real_syscall()(number, a, b, c, d, e, f);
}
