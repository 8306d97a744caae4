/* SPDX-License-Identifier: MIT */
/* In place of `bytepoll dotnet`, where bytepoll is built without it. */
#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/run/program_end.h"

static int refuse(const struct bp_arguments *arguments)
{
	return bp_command_fail_usage(arguments->command,
		"this bytepoll was built without it: build it with meson's -Ddotnet=enabled");
}

static const struct bp_option options[] = { { 0 } };

const struct bp_command bp_command_dotnet = { .name = "dotnet",
	.summary = "record the allocations of a .NET program (not in this build)",
	.usage = "",
	.details = "This bytepoll was built without it: build it with meson's -Ddotnet=enabled.\n",
	.options = options,
	.exit_statuses = "125  always\n",
	.usage_status = BP_STATUS_OWN_FAILURE,
	.run = refuse };
