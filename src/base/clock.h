/* SPDX-License-Identifier: MIT */
/*
 * CLOCK_MONOTONIC in a time namespace (time_namespaces(7)) is ahead of the machine's, or behind it,
 * by a number of nanoseconds that does not change while a process is in it. What is of several
 * processes is compared by the machine's clock, the one outside of every time namespace. Offsets
 * and differences are taken modulo 2^64. No memory is allocated; async-signal-safe.
 */
#ifndef BP_BASE_CLOCK_H
#define BP_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/system_call.h"

/* Is the namespace of this process that of its children, which /proc/self/timens_offsets tells of?
 * A process that called unshare and did not fork yet has two. */
static inline bool bp_clock_is_of_children(void)
{
	struct stat own, children;
	return syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/time", &own, 0) == 0 &&
	       syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/time_for_children", &children, 0) ==
		       0 &&
	       own.st_ino == children.st_ino;
}

/* By how much CLOCK_MONOTONIC of this process is ahead of the machine's; 0 where there are no time
 * namespaces, and where it cannot be told. The file begins "monotonic SECONDS NANOSECONDS". */
static inline uint64_t bp_clock_offset_ns(void)
{
	static const char name[] = "monotonic";
	char text[128];
	uint64_t numbers[2] = { 0, 0 };
	bool minus = false;
	const size_t length = bp_system_read_file("/proc/self/timens_offsets", text, sizeof text);
	size_t at = sizeof name - 1;
	if (length < at || __builtin_memcmp(text, name, at) != 0)
		return 0;
	for (int i = 0; i < 2; i++) {
		while (text[at] == ' ' || text[at] == '\t')
			at++;
		if (i == 0 && text[at] == '-') {
			minus = true;
			at++;
		}
		for (; text[at] >= '0' && text[at] <= '9'; at++)
			numbers[i] = numbers[i] * 10 + (uint64_t)(text[at] - '0');
	}
	const uint64_t seconds_ns = numbers[0] * 1000000000u;
	const uint64_t offset_ns = (minus ? 0 - seconds_ns : seconds_ns) + numbers[1];
	return offset_ns == 0 || bp_clock_is_of_children() ? offset_ns : 0;
}

/* CLOCK_MONOTONIC of the machine, now. */
static inline uint64_t bp_clock_machine_ns(void)
{
	return bp_system_time_ns(CLOCK_MONOTONIC) - bp_clock_offset_ns();
}

#endif
