/* SPDX-License-Identifier: MIT */
/* See damage.h. The words are glibc's own, so that whoever looks for them in a log finds them. */
#include "recognition/damage.h"

#include <stdlib.h>

#include "base/attributes.h"
#include "base/system_call.h"

static uint32_t noted; /* enum bp_damage */

static const char *const words[] = {
	[BP_DAMAGE_NONE] = "\n",
	[BP_DAMAGE_FREED_TWICE] = "free(): double free detected in tcache 2\n",
	[BP_DAMAGE_REALLOC] = "realloc(): invalid pointer\n",
	[BP_DAMAGE_WRITE_FREED] = "malloc(): unaligned tcache chunk detected\n",
	[BP_DAMAGE_OVERFLOW] = "free(): invalid next size (normal)\n",
};

void bp_damage_note(enum bp_damage damage)
{
	__atomic_store_n(&noted, damage, __ATOMIC_RELAXED);
}

enum bp_damage bp_damage_noted(void)
{
	if (bp_likely(__atomic_load_n(&noted, __ATOMIC_RELAXED) == BP_DAMAGE_NONE))
		return BP_DAMAGE_NONE;
	return (enum bp_damage)__atomic_exchange_n(&noted, BP_DAMAGE_NONE, __ATOMIC_RELAXED);
}

void bp_damage_end(enum bp_damage damage)
{
	(void)syscall(SYS_write, 2, words[damage], __builtin_strlen(words[damage]));
	abort(); /* our hook, which publishes the totals, and then the C library's */
}
