/* SPDX-License-Identifier: MIT */
/*
 * The list of commands, in the order of the help: a new one is a file of its own, with its
 * `struct bp_command`, and one line here. X(NAME): bp_command_NAME.
 */
#ifndef BP_CLI_COMMANDS_H
#define BP_CLI_COMMANDS_H

/* clang-format off */
#define BP_COMMANDS(X) \
	X(run) \
	X(attach) \
	X(detach) \
	X(control) \
	X(live) \
	X(report) \
	X(export) \
	X(push) \
	X(fleet) \
	X(compact) \
	X(metrics) \
	X(html) \
	X(diff) \
	X(check) \
	X(plan) \
	X(verify) \
	X(fold) \
	X(dotnet) \
	X(doctor) \
	X(help) \
	X(completion) \
	X(manual)
/* clang-format on */

#endif
