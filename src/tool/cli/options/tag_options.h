/* SPDX-License-Identifier: MIT */
/*
 * The options by which a recording is tagged for the fleet: whose it is, of which release, on which
 * host. Not thread-safe, as options.h.
 */
#ifndef BP_CLI_OPTIONS_TAG_OPTIONS_H
#define BP_CLI_OPTIONS_TAG_OPTIONS_H

#include <limits.h>

#include "cli/options/options.h"
#include "fleet/process_fields.h"

struct bp_tag_options {
	struct bp_tags tags;
	char host[HOST_NAME_MAX + 1]; /* of this machine */
	char *text;		      /* behind tags.tags */
};

bool bp_tag_options_given(const struct bp_arguments *arguments);

/* Without --host it is the name of this machine. Errors: a tag without `=`, two of one key, and
 * characters that are no text. bp_tag_options_finish is safe afterwards and on zeroed memory. */
bool bp_tag_options_read(const struct bp_arguments *arguments, struct bp_tag_options *ret_options,
	struct bp_error *error);
void bp_tag_options_finish(struct bp_tag_options *options);

#define BP_OPTION_TAGS                                                                  \
	{ .name = "service",                                                            \
		.argument = "NAME",                                                     \
		.summary = "whose recording it is (default: the program's name)" },     \
		{ .name = "release",                                                    \
			.argument = "NAME",                                             \
			.summary = "of which version of the program (default: none)" }, \
		{ .name = "host",                                                       \
			.argument = "NAME",                                             \
			.summary = "on which machine (default: this one)" },            \
	{                                                                               \
		.name = "tag", .argument = "KEY=VALUE", .repeatable = true,             \
		.summary = "anything else to select recordings by"                      \
	}

#endif
