/* SPDX-License-Identifier: MIT */
/* See damage.h. The words are glibc's own, so that whoever looks for them in a log finds them. */
#include "recorder/damage.h"

#include <stdlib.h>

#include "base/system_call.h"

static const char *const words[] = {
	[BP_DAMAGE_NONE] = "\n",
	[BP_DAMAGE_FREED_TWICE] = "free(): double free detected in tcache 2\n",
	[BP_DAMAGE_REALLOC] = "realloc(): invalid pointer\n",
	[BP_DAMAGE_WRITE_FREED] = "malloc(): unaligned tcache chunk detected\n",
	[BP_DAMAGE_OVERFLOW] = "free(): invalid next size (normal)\n",
};

void bp_damage_end(enum bp_damage damage)
{
	(void)syscall(SYS_write, 2, words[damage], __builtin_strlen(words[damage]));
	abort(); /* our hook, which publishes the totals, and then the C library's */
}
