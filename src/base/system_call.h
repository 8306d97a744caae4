/* SPDX-License-Identifier: MIT */
/*
 * The system calls the recorder makes, by number: not through libc's named wrappers, which the
 * program may replace and which are cancellation points. They set errno; every cold path saves and
 * restores the program's. A negative result is a failure, errno says which.
 * Async-signal-safe, thread-safe.
 */
#ifndef BP_BASE_SYSTEM_CALL_H
#define BP_BASE_SYSTEM_CALL_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"

/* MADV_POPULATE_WRITE of Linux 5.14, which older headers lack. */
#define BP_ADVICE_POPULATE_WRITE 23

/* Bytes of a page: 4 KiB on x86-64; on aarch64 4, 16 or 64 KiB, as the kernel was built. Addresses
 * given to bp_system_advise and bp_system_unmap begin a page; of lengths the kernel makes whole
 * pages. */
static inline size_t bp_system_page_bytes(void)
{
	return (size_t)getauxval(AT_PAGESZ);
}

/* Where the page that holds `address` begins. */
static inline uintptr_t bp_system_page_of(uintptr_t address)
{
	return address & ~(uintptr_t)(bp_system_page_bytes() - 1);
}

static inline size_t bp_system_whole_pages(size_t bytes)
{
	const size_t page = bp_system_page_bytes();
	return (bytes + page - 1) & ~(page - 1);
}

/* Anonymous or file memory; NULL on failure. */
static inline void *bp_system_map(
	size_t bytes, int protection, int flags, int descriptor, uint64_t offset)
{
	long result = syscall(SYS_mmap, NULL, bytes, protection, flags, descriptor, offset);
	return result == -1 ? NULL : (void *)result;
}

static inline void *bp_system_memory(size_t bytes)
{
	return bp_system_map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static inline void bp_system_unmap(void *memory, size_t bytes)
{
	(void)syscall(SYS_munmap, memory, bytes);
}

static inline bool bp_system_advise(void *memory, size_t bytes, int advice)
{
	return syscall(SYS_madvise, memory, bytes, advice) == 0;
}

/* `path` is relative to the folder that is open as `folder`, unless that is AT_FDCWD. */
static inline int bp_system_open_in(int folder, const char *path, int flags, int mode)
{
	return (int)syscall(SYS_openat, folder, path, flags | O_CLOEXEC, mode);
}

static inline int bp_system_open(const char *path, int flags, int mode)
{
	return bp_system_open_in(AT_FDCWD, path, flags, mode);
}

static inline void bp_system_close(int descriptor)
{
	(void)syscall(SYS_close, descriptor);
}

static inline long bp_system_read(int descriptor, void *to, size_t bytes)
{
	return syscall(SYS_read, descriptor, to, bytes);
}

static inline uint32_t bp_system_pid(void)
{
	return (uint32_t)syscall(SYS_getpid);
}

static inline uint32_t bp_system_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static inline uint64_t bp_system_time_ns(clockid_t clock)
{
	struct timespec now;
	if (clock_gettime(clock, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Unpredictable bytes; early in boot or in a sandbox that refuses them: not secret, but
 * different. */
static inline void bp_system_random(void *to, size_t bytes)
{
	if (syscall(SYS_getrandom, to, bytes, 1 /* GRND_NONBLOCK */) == (long)bytes)
		return;
	uint64_t state =
		bp_system_time_ns(CLOCK_REALTIME) ^ (uint64_t)bp_system_pid() << 40 ^ (uint64_t)to;
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)to)[i] = (uint8_t)(bp_hash_u64(state += 0x9E3779B97F4A7C15u) >> 56);
}

/* Up to `bytes` - 1 bytes of a (proc) file, terminated; the length, 0 on failure. */
static inline size_t bp_system_read_file(const char *path, char *to, size_t bytes)
{
	int descriptor = bp_system_open(path, O_RDONLY, 0);
	size_t length = 0;
	if (descriptor < 0)
		return 0;
	while (length + 1 < bytes) {
		long got = bp_system_read(descriptor, to + length, bytes - 1 - length);
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	to[length] = '\0';
	bp_system_close(descriptor);
	return length;
}

/* Can 8 bytes at `address` be read? One cheap system call that every sandbox allows: the kernel
 * copies the signal set before it refuses the operation. */
static inline bool bp_system_readable(uintptr_t address)
{
	return syscall(SYS_rt_sigprocmask, -1, (void *)address, NULL, 8) == -1 && errno != EFAULT;
}

#endif
