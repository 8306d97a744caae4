/* SPDX-License-Identifier: MIT */
/*
 * A kernel with pages of 64 KiB, as aarch64 and ppc64le have them, to whom it may concern:
 * preloaded behind the recorder it takes the recorder's system calls (they all go through libc's
 * `syscall`) and answers about memory as such a kernel would. Addresses that do not begin a page
 * are refused, new mappings begin one, lengths are made whole pages. Everybody else's system calls
 * are as ever, so the program does not notice. Libraries lie as this machine's loader put them, not
 * as one with such pages would, so their protection is not changed: that is refused. x86-64 and
 * aarch64.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES ((long)65536)

static long raw(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "+a"(number)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return number;
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#endif
}

static long whole_pages(long bytes)
{
	return (bytes + PAGE_BYTES - 1) & -PAGE_BYTES;
}

/* Room where a page begins, and nothing before and behind it left over. */
static long reserve(long bytes)
{
	const long all = bytes + PAGE_BYTES;
	const long at = raw(SYS_mmap, 0, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at < 0 && at >= -4095)
		return at;
	const long begin = whole_pages(at);
	if (begin > at)
		raw(SYS_munmap, at, begin - at, 0, 0, 0, 0);
	if (at + all > begin + bytes)
		raw(SYS_munmap, begin + bytes, at + all - begin - bytes, 0, 0, 0, 0);
	return begin;
}

static long map(long address, long bytes, long protection, long flags, long file, long offset)
{
	const long fixed = MAP_FIXED | MAP_FIXED_NOREPLACE;
	if (((flags & fixed) != 0 && address % PAGE_BYTES != 0) || offset % PAGE_BYTES != 0)
		return -EINVAL;
	bytes = whole_pages(bytes);
	if ((flags & fixed) == 0) {
		address = reserve(bytes);
		if (address < 0 && address >= -4095)
			return address;
		flags |= MAP_FIXED;
	}
	return raw(SYS_mmap, address, bytes, protection, flags, file, offset);
}

long syscall(long number, ...)
{
	va_list arguments;
	long a[6], result;
	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	switch (number) {
	case SYS_mmap:
		result = map(a[0], a[1], (int)a[2], (int)a[3], (int)a[4], a[5]);
		break;
	case SYS_mprotect:
		result = -EACCES;
		break;
	case SYS_munmap:
	case SYS_madvise:
		result = a[0] % PAGE_BYTES != 0
				 ? -EINVAL
				 : raw(number, a[0], whole_pages(a[1]), a[2], 0, 0, 0);
		break;
	default:
		result = raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

unsigned long getauxval(unsigned long type)
{
	static unsigned long (*real)(unsigned long);
	if (type == AT_PAGESZ)
		return (unsigned long)PAGE_BYTES;
	if (real == NULL)
		real = (unsigned long (*)(unsigned long))dlvsym(RTLD_NEXT, "getauxval",
			sizeof(void *) == 8 && SYS_mmap == 9 ? "GLIBC_2.16" : "GLIBC_2.17");
	return real == NULL ? 0 : real(type);
}
