/* SPDX-License-Identifier: MIT */
/* See allocator_options.h. The word `none` leaves no allocation function; what is given after it
 * (or before) would be without effect, and is refused. */
#include "cli/options/allocator_options.h"

#include <string.h>

#include "base/error.h"

static struct bp_allocators taken;

bool bp_allocator_options_take(const struct bp_arguments *arguments, struct bp_error *error)
{
	struct bp_error reason;
	for (int i = 0; i < arguments->given_count; i++) {
		const struct bp_given *given = &arguments->given[i];
		if (strcmp(given->option->name, "allocators") != 0)
			continue;
		if (taken.none || (taken.count > 0 && strcmp(given->value, "none") == 0))
			return bp_error_set(error, "--allocators none: stands alone");
		if (strcmp(given->value, "none") == 0)
			taken.none = true;
		else if (!bp_allocators_add(&taken, given->value, &reason))
			return bp_error_set(error, "--allocators: %.800s", reason.text);
	}
	return true;
}

const struct bp_allocators *bp_allocator_options(void)
{
	return taken.none || taken.count > 0 ? &taken : NULL;
}
