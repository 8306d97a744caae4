/* SPDX-License-Identifier: MIT */
/*
 * --allocators: which functions count as allocation functions (model/names/allocators.h), for all
 * profiles that a command reads. main.c takes it before the command runs, as it does options of
 * symbols. Not thread-safe.
 */
#ifndef BP_CLI_OPTIONS_ALLOCATOR_OPTIONS_H
#define BP_CLI_OPTIONS_ALLOCATOR_OPTIONS_H

#include "cli/command.h"
#include "model/names/allocators.h"

#define BP_OPTION_ALLOCATORS                                                                \
	{                                                                                   \
		.name = "allocators", .argument = "REGEX", .repeatable = true,              \
		.summary = "charge callers of these functions too; none: not even malloc's" \
	}

/* Reads the option, where the command has it. False: what was given is no regular expression. */
bool bp_allocator_options_take(const struct bp_arguments *arguments, struct bp_error *error);
/* What was taken; NULL: nothing was given. */
const struct bp_allocators *bp_allocator_options(void);

#endif
