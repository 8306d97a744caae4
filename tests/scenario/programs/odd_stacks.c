/* SPDX-License-Identifier: MIT */
/*
 * Stacks that a walker may trip over: recursion deeper than the 256 frames that are kept, threads
 * on stacks given by the program (one of them directly above an inaccessible page), huge frames,
 * garbage in the frame pointer and in every other register a caller may use, and code without
 * unwind tables that was written into memory at run time.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

static void *allocate(size_t size)
{
	void *p = malloc(size);
	CHECK(p != NULL);
	KEEP(p);
	return p;
}

__attribute__((noinline)) static void recurse(int depth)
{
	void *p = allocate((size_t)depth % 100);
	if (depth > 0)
		recurse(depth - 1);
	free(p);
	KEEP(p);
}

__attribute__((noinline)) static void huge_frame(void)
{
	volatile char frame[1 << 20];
	frame[0] = frame[sizeof(frame) - 1] = 1;
	free(allocate(1000));
	KEEP(frame);
}

/* Calls malloc(100) with the frame pointer full of `garbage` and the stack pointer moved behind the
 * back of the unwind tables: whoever walks on from here finds nonsense. */
__attribute__((noinline)) static void *garbage_frame_pointer(uintptr_t garbage)
{
	void *result;
	__asm__ volatile("mov %%rbp, %%r12\n\tmov %%rsp, %%r13\n\t"
			 "sub $256, %%rsp\n\tand $-16, %%rsp\n\tmov %[garbage], %%rbp\n\t"
			 "mov $100, %%edi\n\tcall *%[function]\n\t"
			 "mov %%r13, %%rsp\n\tmov %%r12, %%rbp"
			 : "=a"(result)
			 : [garbage] "r"(garbage), [function] "r"(malloc)
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
			 "memory", "cc");
	return result;
}

/* push rbx; mov rbx, rsi; call rdi's function with 64; garbage stays in rbx; no unwind tables. */
static void written_code(void)
{
	static const unsigned char code[] = {
		0x53,			      /* push %rbx */
		0x48, 0x89, 0xf8,	      /* mov %rdi, %rax */
		0xbb, 0xef, 0xbe, 0xad, 0xde, /* mov $0xdeadbeef, %ebx */
		0xbf, 0x40, 0, 0, 0,	      /* mov $64, %edi */
		0xff, 0xd0,		      /* call *%rax */
		0x5b,			      /* pop %rbx */
		0xc3,			      /* ret */
	};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
	void *(*function)(void *(*)(size_t)) = (void *(*)(void *(*)(size_t)))page;
	for (int i = 0; i < 200; i++)
		free(function(allocate));
	CHECK(munmap(page, 4096) == 0);
}

static void *thread_main(void *argument)
{
	for (int i = 0; i < 300; i++)
		free(allocate((size_t)i * 10));
	recurse(100);
	return argument;
}

static void own_stacks(void)
{
	size_t bytes = 256 << 10;
	char *memory = mmap(
		NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED && mprotect(memory + bytes, 4096, PROT_NONE) == 0);
	char *from_heap = aligned_alloc(4096, bytes);
	char *stacks[] = { memory, from_heap };
	for (int i = 0; i < 2; i++) {
		pthread_attr_t attributes;
		pthread_t thread;
		CHECK(pthread_attr_init(&attributes) == 0);
		CHECK(pthread_attr_setstack(&attributes, stacks[i], bytes) == 0);
		CHECK(pthread_create(&thread, &attributes, thread_main, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
		pthread_attr_destroy(&attributes);
	}
	free(from_heap);
	CHECK(munmap(memory, bytes + 4096) == 0);
}

int main(void)
{
	static const uintptr_t garbage[] = { 0, 1, 8, 0xdeadbeef, UINTPTR_MAX,
		0x8000000000000000u };
	recurse(3000);
	huge_frame();
	for (size_t i = 0; i < 600; i++)
		free(garbage_frame_pointer(garbage[i % 6]));
	int here;
	for (int i = 0; i < 100; i++)
		free(garbage_frame_pointer((uintptr_t)&here + (uintptr_t)i));
	written_code();
	own_stacks();
	puts("done");
	return 0;
}
