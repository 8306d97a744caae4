/* SPDX-License-Identifier: MIT */
/*
 * Exit statuses of commands that run a program: the program's own, or a shell's where there was
 * none.
 */
#ifndef BP_CLI_RUN_PROGRAM_END_H
#define BP_CLI_RUN_PROGRAM_END_H

enum {
	BP_STATUS_OWN_FAILURE = 125, /* bytepoll could not do its part */
	BP_STATUS_NOT_EXECUTABLE = 126,
	BP_STATUS_NOT_FOUND = 127
};

/* As the program ended, by its wait status: the exit status. Had it died by a signal we die by the
 * same one, without a second core file, and do not return. */
int bp_program_end(int wait_status);

#endif
