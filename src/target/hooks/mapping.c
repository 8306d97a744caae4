/* SPDX-License-Identifier: MIT */
/*
 * The functions by which a program maps memory itself. Each call is passed on unchanged, and what
 * it did is recorded if it succeeded; errno is that of the real function. The C library calls none
 * of these functions by its public name, so that what its malloc and its threads map does not come
 * here. Nor does a program's own system call.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attributes.h"
#include "hooks/binding/real_other.h"
#include "recorder/mapping.h"

static void *mapped(void *result, size_t bytes, int protection, int flags)
{
	if (result != MAP_FAILED && bp_mapping_is_wanted())
		bp_mapping_record(&(struct bp_mapping_call){ .what = BP_MAPPING_MAP,
			.address = (uintptr_t)result,
			.bytes = bytes,
			.protection = protection,
			.flags = flags });
	return result;
}

BP_EXPORT void *mmap(
	void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset)
{
	return mapped(bp_real_others()->mmap(address, bytes, protection, flags, descriptor, offset),
		bytes, protection, flags);
}

BP_EXPORT void *mmap64(
	void *address, size_t bytes, int protection, int flags, int descriptor, off64_t offset)
{
	return mapped(
		bp_real_others()->mmap64(address, bytes, protection, flags, descriptor, offset),
		bytes, protection, flags);
}

BP_EXPORT int munmap(void *address, size_t bytes)
{
	const uint64_t before = bp_mapping_before();
	const int result = bp_real_others()->munmap(address, bytes);
	if (result == 0 && before != 0)
		bp_mapping_record(&(struct bp_mapping_call){ .what = BP_MAPPING_UNMAP,
			.before = before,
			.address = (uintptr_t)address,
			.bytes = bytes });
	return result;
}

BP_EXPORT void *mremap(void *old_address, size_t old_bytes, size_t bytes, int flags, ...)
{
	/* There is a fifth argument where one of these flags is given. */
	void *new_address = NULL;
	if (flags & (MREMAP_FIXED | BP_DONTUNMAP)) {
		va_list rest;
		va_start(rest, flags);
		new_address = va_arg(rest, void *);
		va_end(rest);
	}
	const uint64_t before = bp_mapping_before();
	void *result = bp_real_others()->mremap(old_address, old_bytes, bytes, flags, new_address);
	if (result != MAP_FAILED && before != 0)
		bp_mapping_record(&(struct bp_mapping_call){ .what = BP_MAPPING_REMAP,
			.before = before,
			.address = (uintptr_t)result,
			.bytes = bytes,
			.old_address = (uintptr_t)old_address,
			.old_bytes = old_bytes,
			.flags = flags });
	return result;
}

static int protected(int result, void *address, size_t bytes, int protection)
{
	if (result == 0 && bp_mapping_is_wanted())
		bp_mapping_record(&(struct bp_mapping_call){ .what = BP_MAPPING_PROTECT,
			.address = (uintptr_t)address,
			.bytes = bytes,
			.protection = protection });
	return result;
}

BP_EXPORT int mprotect(void *address, size_t bytes, int protection)
{
	return protected(
		bp_real_others()->mprotect(address, bytes, protection), address, bytes, protection);
}

BP_EXPORT int pkey_mprotect(void *address, size_t bytes, int protection, int key)
{
	/* (A C library without it leaves a weak reference, to which we answer.) */
	const struct bp_real_other *real = bp_real_others();
	if (real->pkey_mprotect == NULL) {
		errno = ENOSYS;
		return -1;
	}
	return protected(
		real->pkey_mprotect(address, bytes, protection, key), address, bytes, protection);
}

/* The end of the data segment moved, or did not. */
static void moved(uintptr_t old_end, uintptr_t end, uint64_t before)
{
	if (end != old_end && before != 0)
		bp_mapping_record(&(struct bp_mapping_call){ .what = BP_MAPPING_BREAK,
			.before = before,
			.address = end,
			.old_address = old_end,
			.protection = PROT_READ | PROT_WRITE });
}

BP_EXPORT int brk(void *end)
{
	const struct bp_real_other *real = bp_real_others();
	const uint64_t before = bp_mapping_before();
	const uintptr_t old_end = before != 0 ? (uintptr_t)real->sbrk(0) : 0;
	const int result = real->brk(end);
	if (result == 0)
		moved(old_end, (uintptr_t)end, before);
	return result;
}

BP_EXPORT void *sbrk(intptr_t increment)
{
	const uint64_t before = increment != 0 ? bp_mapping_before() : 0;
	void *old_end = bp_real_others()->sbrk(increment);
	if (old_end != (void *)-1)
		moved((uintptr_t)old_end, (uintptr_t)old_end + (uintptr_t)increment, before);
	return old_end;
}

BP_EXPORT void *shmat(int segment, const void *address, int flags)
{
	void *result = bp_real_others()->shmat(segment, address, flags);
	if (result == (void *)-1 || !bp_mapping_is_wanted())
		return result;
	const int saved_errno = errno;
	struct shmid_ds status = { .shm_segsz = 0 };
	(void)syscall(SYS_shmctl, segment, IPC_STAT, &status);
	errno = saved_errno;
	bp_mapping_record(&(struct bp_mapping_call){ .what = BP_MAPPING_ATTACH,
		.address = (uintptr_t)result,
		.bytes = status.shm_segsz,
		.protection = flags & SHM_RDONLY ? PROT_READ : PROT_READ | PROT_WRITE,
		.flags = MAP_SHARED });
	return result;
}

BP_EXPORT int shmdt(const void *address)
{
	const uint64_t before = bp_mapping_before();
	const int result = bp_real_others()->shmdt(address);
	if (result == 0 && before != 0)
		bp_mapping_record(&(struct bp_mapping_call){ .what = BP_MAPPING_DETACH,
			.before = before,
			.address = (uintptr_t)address });
	return result;
}
