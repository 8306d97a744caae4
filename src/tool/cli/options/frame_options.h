/* SPDX-License-Identifier: MIT */
/*
 * --frames and --hide: which frames of stacks that hold Python are shown
 * (model/python_frames.h), for all profiles that a command reads. main.c takes them before
 * the command runs. Not thread-safe.
 */
#ifndef BP_CLI_OPTIONS_FRAME_OPTIONS_H
#define BP_CLI_OPTIONS_FRAME_OPTIONS_H

#include "base/error.h"
#include "cli/options/options.h"
#include "model/python_frames.h"

#define BP_OPTION_FRAMES                                                             \
	{ .name = "frames",                                                          \
		.argument = "WHAT",                                                  \
		.choices = "both|python|native",                                     \
		.summary = "stacks of Python: with C but for the interpreter's own " \
			   "functions (both); without; or all of C and no Python" }, \
	{                                                                            \
		.name = "hide", .argument = "WHAT", .choices = "imports",            \
		.summary = "leave out of stacks how Python imports and runs modules" \
	}

/* Reads the options, where the command has them. False: a word that is none of theirs. */
bool bp_frame_options_take(const struct bp_arguments *arguments, struct bp_error *error);
/* What was taken; the default where nothing was given. */
struct bp_frame_choice bp_frame_options(void);

#endif
