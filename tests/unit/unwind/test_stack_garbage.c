/* SPDX-License-Identifier: MIT */
/*
 * The walk over nonsense: random callee-saved registers, a stack of random words between two
 * inaccessible pages, and a return address that is any place of any loaded object (so that the
 * rules of real code are applied to garbage), the signal trampoline, or nothing at all. Nothing may
 * fault.
 *
 * A case is a seed, counted up from 1: 10^5 of them, or BYTEPOLL_FUZZ_CASES. Half of the walks take
 * the stack for the thread's own, as far as it was found readable, half for a foreign one.
 */
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "unwind/stack.h"

#define PAGE 4096u
#define STACK_BYTES (64u << 10)
/* Below the made-up frames there must be room for the walk itself and for longjmp. */
#define ROOM_BYTES (16u << 10)

static struct {
	uintptr_t start, end;
} texts[64];
static unsigned text_count;
static uint8_t *stack;
static uint64_t state_of_random;
static struct bp_stack_capture capture;
static uint64_t trampoline; /* where a signal handler returns to */

static uint64_t next(void)
{
	uint64_t z = (state_of_random += 0x9E3779B97F4A7C15u);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static int note_texts(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)size, (void)argument;
	if (strstr(info->dlpi_name, "unwinder-under-test") != NULL)
		return 0; /* its own frames are left out */
	for (int i = 0; i < info->dlpi_phnum && text_count < 64; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0)
			continue;
		texts[text_count].start = info->dlpi_addr + segment->p_vaddr;
		texts[text_count].end = texts[text_count].start + segment->p_memsz;
		text_count++;
	}
	return 0;
}

static uint64_t any_code(void)
{
	unsigned i = (unsigned)(next() % text_count);
	return texts[i].start + next() % (texts[i].end - texts[i].start);
}

/* What may lie in a register or on a stack. */
static uint64_t any_word(void)
{
	const uint64_t r = next();
	const uint64_t inside = (uint64_t)stack + next() % STACK_BYTES;
	switch (r % 16) {
	case 0:
	case 1:
	case 2:
		return any_code();
	case 3:
	case 4:
	case 5:
		return inside & ~(uint64_t)7;
	case 6:
		return inside;
	case 7: /* at the very ends, both sides */
		return (uint64_t)stack + ((r & 16) != 0 ? STACK_BYTES : 0) + (r >> 8) % 64 - 32;
	case 8:
		return next() % 4096;
	case 9:
		return 0 - next() % 4096;
	case 10:
		return (uint64_t)&r + (next() % 65536 & ~(uint64_t)7);
	case 11:
		return trampoline;
	case 12:
		return (uint64_t)1 << (next() % 64);
	default:
		return next() >> (next() % 64);
	}
}

/* ---- going there and back ---- */

static jmp_buf back;

__attribute__((noinline, noreturn)) static void probe(void)
{
	bp_stack_capture(&capture);
	longjmp(back, 1);
}

/* Jumps to probe() with the six callee-saved registers and the stack pointer given. */
__attribute__((noinline)) static void go(const uint64_t registers[6], uint64_t *sp)
{
#if defined __x86_64__
	__asm__ volatile("movq %1, %%rsp\n\tmovq %2, %%rax\n\t"
			 "movq 0(%0), %%rbx\n\tmovq 16(%0), %%r12\n\tmovq 24(%0), %%r13\n\t"
			 "movq 32(%0), %%r14\n\tmovq 40(%0), %%r15\n\tmovq 8(%0), %%rbp\n\t"
			 "jmp *%%rax"
			 :
			 : "D"(registers), "S"(sp), "d"(probe)
			 : "memory");
#else
	register void (*go_to)(void) __asm__("x17") = probe;
	/* The return address is in a register; the stack is as the caller's. */
	__asm__ volatile("ldr x30, [%1]\n\tadd x16, %1, #8\n\tmov sp, x16\n\t"
			 "ldr x19, [%0]\n\tldp x29, x20, [%0, #8]\n\t"
			 "ldp x21, x22, [%0, #24]\n\tldr x23, [%0, #40]\n\tbr %2"
			 :
			 : "r"(registers), "r"(sp), "r"(go_to)
			 : "memory", "x16");
#endif
	__builtin_unreachable();
}

/* The walk, from there. */
__attribute__((noinline)) static void walk(const uint64_t registers[6], uint64_t *sp)
{
	if (setjmp(back) == 0)
		go(registers, sp);
}

static void prepare_capture(bool own)
{
	memset(&capture, 0, offsetof(struct bp_stack_capture, known_epoch));
	if (own)
		capture.range.high = capture.range.known_low = (uintptr_t)stack + STACK_BYTES;
}

/* One case; the deepest walk so far is what shows that garbage is followed at all. */
static void run(uint64_t seed, uint64_t depths[4])
{
	state_of_random = seed * 0xD1342543DE82EF95u;
	const uint64_t words = 1 + next() % ((STACK_BYTES - ROOM_BYTES) / 8 - 2);
	uint64_t *sp = (uint64_t *)(stack + STACK_BYTES) - words;
	if (((uintptr_t)sp & 15) != 8)
		sp--;
	uint64_t registers[6];
	for (int i = 0; i < 6; i++)
		registers[i] = any_word();
	/* Enough garbage for several frames; further up lies that of earlier cases. */
	for (uint64_t *word = sp; word < sp + 120 && (uint8_t *)word < stack + STACK_BYTES; word++)
		*word = next() % 2 == 0 ? any_code() : any_word(); /* code: so that walks go on */
	const uint64_t caller = next() % 8 == 0 ? any_word() | 1 : any_code();
	*sp = seed % 5 == 0 ? trampoline : caller;
	const uint64_t expected = bp_machine_code_address(*sp);
	prepare_capture(seed % 2 == 0);
	walk(registers, sp);
	assert_in_range(capture.depth, 2, BP_STACK_MAX_DEPTH);
	assert_true(capture.pcs[1] == expected);
	assert_true(capture.flags == 0 || capture.flags == BP_STACK_CUT ||
		    capture.flags == BP_STACK_ENDED);
	depths[capture.depth > 8 ? 3 : capture.depth > 4 ? 2 : capture.depth > 2]++;
}

static void garbage(void **state)
{
	const char *wish = getenv("BYTEPOLL_FUZZ_CASES");
	const uint64_t cases = wish == NULL ? 100000 : strtoull(wish, NULL, 10);
	uint64_t depths[4] = { 0 };
	(void)state;
	for (uint64_t seed = 1; seed <= cases; seed++)
		run(seed, depths);
	print_message("# walks of 2 frames %llu, to 4 %llu, to 8 %llu, more %llu\n",
		(unsigned long long)depths[0], (unsigned long long)depths[1],
		(unsigned long long)depths[2], (unsigned long long)depths[3]);
	/* Garbage was followed: a walk that always gave up at once would prove nothing. */
	assert_true(depths[1] > cases / 20 && depths[2] > cases / 50 && depths[3] > cases / 1000);
}

/* A walk up to the very last word of a stack, with an inaccessible page right above. */
static void edge_of_the_stack(void **state)
{
	uint64_t registers[6] = { 0 };
	(void)state;
	for (unsigned words = 1; words < 300; words++)
		for (int own = 0; own < 2; own++) {
			uint64_t *sp = (uint64_t *)(stack + STACK_BYTES) - words;
			if (((uintptr_t)sp & 15) != 8)
				continue;
			for (unsigned i = 0; i < words; i++)
				sp[i] = any_code();
			registers[1] = (uint64_t)(stack + STACK_BYTES) - 8;
			prepare_capture(own);
			walk(registers, sp);
			assert_in_range(capture.depth, 2, BP_STACK_MAX_DEPTH);
		}
}

static void on_signal(int number)
{
	(void)number;
	trampoline = (uint64_t)__builtin_return_address(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(garbage),
		cmocka_unit_test(edge_of_the_stack),
	};
	uint8_t *memory =
		mmap(NULL, STACK_BYTES + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED ||
		mprotect(memory + PAGE, STACK_BYTES, PROT_READ | PROT_WRITE) != 0)
		return 1;
	stack = memory + PAGE;
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	dl_iterate_phdr(note_texts, NULL);
	bp_stack_init(true);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
