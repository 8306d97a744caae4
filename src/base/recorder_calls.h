/* SPDX-License-Identifier: MIT */
/*
 * The system calls that the recorder makes once it has started, with the arguments that it makes
 * them with: what a seccomp filter is asked about, by the recorder itself and by `bytepoll attach`.
 * docs/recorder.md lists them, and a test compares. Where a filter refuses one with an error
 * nothing is harmed, for every failure is handled.
 */
#ifndef BP_BASE_RECORDER_CALLS_H
#define BP_BASE_RECORDER_CALLS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/seal.h"
#include "base/system_call.h"

#define BP_CALL_ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)
#define BP_CALL_READ_WRITE (PROT_READ | PROT_WRITE)
#define BP_CALL_DESCRIPTOR 3
#define BP_CALL_ADDRESS 0x7f0000001000
#define BP_CALL_WHENCE ((uint64_t)(int64_t)AT_FDCWD)
#define BP_CALL_CHUNK_BYTES 65536u /* BP_CHUNK_BYTES of trace/format.h */

/* Number and name. */
#define BP_CALL(name) SYS_##name, #name

struct bp_recorder_call {
	enum bp_seal seal; /* what is given up when the call is forbidden */
	uint32_t number;
	char name[20];
	uint64_t arguments[6];
};

static const struct bp_recorder_call bp_recorder_calls[] = {
	{ BP_SEAL_ALL, BP_CALL(mmap),
		{ 0, 65536, BP_CALL_READ_WRITE, BP_CALL_ANONYMOUS, UINT64_MAX, 0 } },
	{ BP_SEAL_ALL, BP_CALL(munmap), { BP_CALL_ADDRESS, 65536 } },
	{ BP_SEAL_ALL, BP_CALL(madvise), { BP_CALL_ADDRESS, 65536, MADV_NOHUGEPAGE } },
	{ BP_SEAL_ALL, BP_CALL(madvise), { BP_CALL_ADDRESS, 65536, MADV_DONTNEED } },
	{ BP_SEAL_ALL, BP_CALL(madvise), { BP_CALL_ADDRESS, 4096, BP_ADVICE_POPULATE_WRITE } },
	{ BP_SEAL_ALL, BP_CALL(futex), { BP_CALL_ADDRESS, FUTEX_WAIT_PRIVATE, 2 } },
	{ BP_SEAL_ALL, BP_CALL(futex), { BP_CALL_ADDRESS, FUTEX_WAKE_PRIVATE, 1 } },
	{ BP_SEAL_ALL, BP_CALL(rt_sigprocmask), { UINT32_MAX, BP_CALL_ADDRESS, 0, 8 } },
	{ BP_SEAL_ALL, BP_CALL(gettid), { 0 } },
	{ BP_SEAL_ALL, BP_CALL(getpid), { 0 } },
	{ BP_SEAL_ALL, BP_CALL(tgkill), { 1000, 1000, 0 } },
	{ BP_SEAL_ALL, BP_CALL(prctl), { PR_GET_NAME, BP_CALL_ADDRESS } },
	{ BP_SEAL_ALL, BP_CALL(clock_gettime), { CLOCK_PROCESS_CPUTIME_ID, BP_CALL_ADDRESS } },
	{ BP_SEAL_CHILDREN, BP_CALL(getppid), { 0 } },
	{ BP_SEAL_CHILDREN, BP_CALL(getrandom), { BP_CALL_ADDRESS, 16, 1 } },
	{ BP_SEAL_CHILDREN, BP_CALL(openat),
		{ BP_CALL_WHENCE, BP_CALL_ADDRESS, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600 } },
	{ BP_SEAL_CHILDREN, BP_CALL(mkdirat), { BP_CALL_WHENCE, BP_CALL_ADDRESS, 0700 } },
	{ BP_SEAL_CHILDREN, BP_CALL(openat),
		{ BP_CALL_WHENCE, BP_CALL_ADDRESS,
			O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC } },
	{ BP_SEAL_CHILDREN, BP_CALL(geteuid), { 0 } },
	{ BP_SEAL_CHILDREN, BP_CALL(openat),
		{ BP_CALL_DESCRIPTOR, BP_CALL_ADDRESS,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600 } },
	{ BP_SEAL_CHILDREN, BP_CALL(unlinkat), { BP_CALL_WHENCE, BP_CALL_ADDRESS, 0 } },
	{ BP_SEAL_CHILDREN, BP_CALL(madvise), { BP_CALL_ADDRESS, 4096, MADV_DOFORK } },
	{ BP_SEAL_CHILDREN, BP_CALL(faccessat), { BP_CALL_WHENCE, BP_CALL_ADDRESS, F_OK } },
	{ BP_SEAL_CHILDREN, BP_CALL(pread64), { BP_CALL_DESCRIPTOR, BP_CALL_ADDRESS, 64, 0 } },
	{ BP_SEAL_FILES, BP_CALL(openat),
		{ BP_CALL_WHENCE, BP_CALL_ADDRESS, O_RDWR | O_NOFOLLOW | O_CLOEXEC } },
	{ BP_SEAL_FILES, BP_CALL(fstat), { BP_CALL_DESCRIPTOR, BP_CALL_ADDRESS } },
	{ BP_SEAL_FILES, BP_CALL(ftruncate), { BP_CALL_DESCRIPTOR, BP_CALL_CHUNK_BYTES } },
	{ BP_SEAL_FILES, BP_CALL(mmap),
		{ 0, 1 << 26, BP_CALL_READ_WRITE, MAP_SHARED, BP_CALL_DESCRIPTOR, 0 } },
	{ BP_SEAL_FILES, BP_CALL(madvise), { BP_CALL_ADDRESS, 1 << 26, MADV_DONTFORK } },
	{ BP_SEAL_FILES, BP_CALL(madvise), { BP_CALL_ADDRESS, 1 << 26, MADV_RANDOM } },
	{ BP_SEAL_FILES, BP_CALL(close), { BP_CALL_DESCRIPTOR } },
	{ BP_SEAL_FILES, BP_CALL(prlimit64), { 0, RLIMIT_FSIZE, 0, BP_CALL_ADDRESS } },
	{ BP_SEAL_FILES, BP_CALL(newfstatat),
		{ BP_CALL_WHENCE, BP_CALL_ADDRESS, BP_CALL_ADDRESS, 0 } },
	{ BP_SEAL_FILES, BP_CALL(readlinkat),
		{ BP_CALL_WHENCE, BP_CALL_ADDRESS, BP_CALL_ADDRESS, 4095 } },
	{ BP_SEAL_FILES, BP_CALL(openat),
		{ BP_CALL_WHENCE, BP_CALL_ADDRESS, O_RDONLY | O_CLOEXEC } },
	{ BP_SEAL_FILES, BP_CALL(read), { BP_CALL_DESCRIPTOR, BP_CALL_ADDRESS, 512 } },
};

#endif
