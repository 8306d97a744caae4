/* SPDX-License-Identifier: MIT */
/*
 * A process's surroundings, out of /proc: is it run by valgrind, which puts its own malloc in place
 * of all others; does a debugger hold it; has it given up system calls; is it in a container, whose
 * files are others; may its memory be read, which exact counters of a running process need. And of
 * the kernel: the age at which the trace costs more to write, and the setting that restricts
 * reading.
 */
#include "cli/doctor/doctor_process.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/process/processes.h"
#include "model/gaps/unseen.h"

/* A number of /proc/PID/status; -1 if it is not there. */
static long status_number(pid_t pid, const char *name)
{
	uint64_t number;
	return bp_process_status_of(pid, name, &number, 1) == 1 ? (long)number : -1;
}

/* kernel.yama.ptrace_scope; 0 where there is no such thing. */
static long ptrace_scope(void)
{
	char text[16] = "";
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	if (file == NULL)
		return 0;
	if (fgets(text, sizeof text, file) == NULL)
		text[0] = '\0';
	fclose(file);
	return strtol(text, NULL, 10);
}

int bp_doctor_process(pid_t pid, const char *image, bp_doctor_say *say)
{
	const long tracer = status_number(pid, "TracerPid");
	const long seccomp = status_number(pid, "Seccomp");
	int problems = 0;
	if (bp_is_valgrind(image)) {
		say("problem", "it runs under valgrind, which has a malloc of its own in place of "
			       "every other: run the program without it");
		problems++;
	}
	if (tracer > 0)
		say("note",
			"process %ld traces it (a debugger, strace): it runs as ever, but time "
			"measured there is not its own",
			tracer);
	if (seccomp == 1)
		say("note",
			"it is in seccomp's strict mode: there objects are counted, not sampled");
	else if (seccomp == 2)
		say("note",
			"it is under a seccomp filter: one that stood before it started must allow "
			"what docs/recorder.md lists");
	if (bp_process_is_elsewhere(pid, "ns/mnt"))
		say("note",
			"it has file systems of its own (a container): the recorder must be a file "
			"in there, and traces are written there");
	if (bp_process_is_elsewhere(pid, "ns/pid"))
		say("note",
			"it is in a process namespace of its own: files are named by the process "
			"ids that hold in there");
	return problems;
}

void bp_doctor_machine(bp_doctor_say *say)
{
	struct utsname system;
	unsigned major = 0, minor = 0;
	const long scope = ptrace_scope();
	if (uname(&system) == 0 && sscanf(system.release, "%u.%u", &major, &minor) == 2 &&
		(major < 5 || (major == 5 && minor < 14)))
		say("note",
			"Linux %u.%u has no MADV_POPULATE_WRITE (5.14): disk is reserved for 4 MiB "
			"of the trace at a time",
			major, minor);
	if (scope > 0 && geteuid() != 0)
		say("note",
			"kernel.yama.ptrace_scope is %ld: of a running process only root reads "
			"counters to the object, others as they were stored last",
			scope);
}
