/* SPDX-License-Identifier: MIT */
/* What `bytepoll doctor` says of a process beside its program: in what it runs, and who watches
 * it. */
#ifndef BP_CLI_DOCTOR_DOCTOR_PROCESS_H
#define BP_CLI_DOCTOR_DOCTOR_PROCESS_H

#include <sys/types.h>

/* Prints a line: "ok", "note" or "problem", and a text made as by printf. */
typedef void bp_doctor_say(const char *what, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Says what stands out about a running process (reads /proc; what cannot be read is left out); the
 * number of problems. `image`: the path of what it runs. */
int bp_doctor_process(pid_t pid, const char *image, bp_doctor_say *say);

/* Says what this machine's kernel does not allow or lack. */
void bp_doctor_machine(bp_doctor_say *say);

#endif
