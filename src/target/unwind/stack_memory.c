/* SPDX-License-Identifier: MIT */
/*
 * The main thread's stack is the kernel's: what was once found readable between a stack pointer and
 * its end stays so. Other threads' stacks may be memory that the program supplied
 * (pthread_attr_setstack): between the live stack pointer and the end it must stay mapped, or the
 * thread could not return; below, the program may have unmapped it, or mapped something else, when
 * the thread was not that deep. So there known_low follows the stack pointer up as well as down,
 * and what lies below it is verified again when the thread gets there: a system call for each page
 * by which the stack is deeper than at the thread's last capture.
 */
#include "unwind/stack_memory.h"

#include <stddef.h>

#include "base/system_call.h"
#include "unwind/machine.h"

#define PAGE 4096u /* of the smallest machine; others' pages are multiples of it */
#define FOREIGN_BYTES ((uintptr_t)8 << 20)
#define OWN_BYTES_MAX ((uintptr_t)1 << 28)

extern void *__libc_stack_end __attribute__((weak)); /* the loader's */
static uintptr_t main_stack_end; /* where the program's first frame began; 0 unknown */

void bp_stack_memory_init(void)
{
	main_stack_end = &__libc_stack_end == NULL ? 0 : (uintptr_t)__libc_stack_end;
}

static uintptr_t page_of(uintptr_t address)
{
	return address & ~(uintptr_t)(PAGE - 1);
}

static bool is_main_stack(uintptr_t sp)
{
	return sp < main_stack_end && main_stack_end - sp < OWN_BYTES_MAX;
}

bool bp_memory_readable(uintptr_t address, uintptr_t bytes)
{
	const uintptr_t last = page_of(address + bytes - 1);
	return address + bytes > address && bp_system_readable(page_of(address)) &&
	       (last == page_of(address) || bp_system_readable(last));
}

bool bp_stack_may_read(struct bp_stack_memory *memory, uintptr_t address)
{
	const uintptr_t last = page_of(address + 7);
	if (address - memory->low >= memory->checked_span)
		return false;
	if (page_of(address) != memory->checked_page || last != memory->checked_page) {
		if (!bp_memory_readable(address, 8))
			return false;
		memory->checked_page = last;
	}
	return true;
}

/* The highest address of the calling thread's own stack: glibc keeps a thread's control block at
 * the top of its stack; the main thread's begins where the program's did. */
static uintptr_t own_stack_high(uintptr_t sp)
{
	if (is_main_stack(sp))
		return page_of(main_stack_end + PAGE - 1);
	/* The main thread's control block is not on its stack; if it walks another one first, what
	 * lies between the two is anybody's, and may go. */
	uintptr_t control_block = bp_machine_thread_pointer();
	if (bp_system_tid() == bp_system_pid())
		return 0;
	if (sp < control_block && control_block - sp < OWN_BYTES_MAX)
		return control_block & ~(uintptr_t)7;
	return 0;
}

/* Is [sp, range->high) readable? Verifies what is not known yet. */
static bool is_own(struct bp_stack_range *range, uintptr_t sp)
{
	uintptr_t low = range->known_low;
	if (bp_likely(sp >= low)) {
		/* Other threads': see above. A page of slack, for a stack that goes up and down. */
		if (sp - low >= 2 * PAGE && !is_main_stack(sp))
			range->known_low = page_of(sp - PAGE);
		return true;
	}
	while (low > sp && bp_system_readable(page_of(low - 8)))
		low = page_of(low - 8);
	range->known_low = low;
	return low <= sp;
}

void bp_stack_memory_set(struct bp_stack_memory *memory, struct bp_stack_range *range, uintptr_t sp)
{
	if (bp_unlikely(range->high == 0))
		range->high = range->known_low = own_stack_high(sp);
	memory->low = sp;
	memory->checked_page = 1; /* no page: none begins there */
	memory->span = memory->checked_span = 0;
	if (sp >= range->high || range->high - sp >= OWN_BYTES_MAX || !is_own(range, sp))
		memory->checked_span = FOREIGN_BYTES;
	else if (range->high - sp >= 8)
		memory->span = range->high - sp - 7;
}
