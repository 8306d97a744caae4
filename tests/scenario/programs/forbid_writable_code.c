/* SPDX-License-Identifier: MIT */
/*
 *     forbid_writable_code PROGRAM ARGUMENTS
 *
 * Starts a program that may have no memory both writable and executable, as hardened services run
 * (systemd's MemoryDenyWriteExecute); where the kernel knows no such thing (before 6.3) it just
 * starts it.
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SET_MDWE 65
#define REFUSE_EXEC_GAIN 1ul

int main(int argument_count, char **arguments)
{
	if (argument_count < 2)
		return 2;
	(void)prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0ul, 0ul, 0ul);
	execv(arguments[1], arguments + 1);
	perror(arguments[1]);
	return 1;
}
