/* SPDX-License-Identifier: MIT */
/*
 * The words of a command line are joined by spaces, so that where the first one ends is not
 * certain. A first word that begins with the executable's own name, spaces and all, is taken for
 * that; otherwise it ends at the first space. A login shell has a dash before its name, and a
 * server that says what it does ("postgres: walwriter") a colon behind it.
 */
#include "model/names/process_name.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "base/path.h"

/* Does the word at `text` read as `name`, to its end? */
static bool is_word(const char *text, const char *name)
{
	const size_t bytes = strlen(name);
	return strncmp(text, name, bytes) == 0 && (text[bytes] == '\0' || text[bytes] == ' ');
}

/* A loader that was told to start the program ("/lib64/ld-linux-x86-64.so.2 ./program") is not what
 * anybody means by the name. The executable is another file then. */
static bool is_loader(const char *name, const char *own)
{
	return *own != '\0' && (strncmp(name, "ld-linux", 8) == 0 || is_word(name, "ld.so"));
}

/* The last part of the first word; its length is 0 where there is none. */
static const char *typed_name(const char *command_line, const char *program, size_t *ret_bytes)
{
	const char *own = bp_last_part(program), *name = command_line;
	*ret_bytes = 0;
	if (*program != '\0' && is_word(command_line, program))
		return command_line;
	for (const char *at = command_line; *at != '\0' && *at != ' '; at++)
		if (*at == '/')
			name = at + 1;
	if (*own != '\0' && is_word(name, own))
		return name;
	if (is_loader(name, own))
		return own;
	name += *name == '-';
	*ret_bytes = strcspn(name, " ");
	if (*ret_bytes > 1 && name[*ret_bytes - 1] == ':')
		--*ret_bytes;
	return name;
}

const char *bp_process_name_from(const char *command_line, const char *program, size_t *ret_bytes)
{
	const char *typed = typed_name(command_line, program, ret_bytes);
	if (*ret_bytes > 0)
		return typed;
	typed = bp_last_part(program);
	*ret_bytes = strlen(typed);
	return typed;
}

bool bp_profile_name_processes(struct bp_profile *profile, struct bp_error *error)
{
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		struct bp_process *process = &profile->processes.data[i];
		size_t bytes;
		const char *name =
			bp_process_name_from(bp_profile_text(profile, process->command_line),
				bp_profile_text(profile, process->program), &bytes);
		if (!bp_profile_string(profile, name, bytes, &process->name, error))
			return false;
	}
	return true;
}

const char *bp_process_name(const struct bp_profile *profile, const struct bp_process *process)
{
	return process->name.i != 0 ? bp_profile_text(profile, process->name)
				    : bp_last_part(bp_profile_text(profile, process->program));
}

/* By number; what sigabbrev_np says, which came with glibc 2.32. */
static const char *const signal_names[] = {
	[SIGHUP] = "HUP",
	[SIGINT] = "INT",
	[SIGQUIT] = "QUIT",
	[SIGILL] = "ILL",
	[SIGTRAP] = "TRAP",
	[SIGABRT] = "ABRT",
	[SIGBUS] = "BUS",
	[SIGFPE] = "FPE",
	[SIGKILL] = "KILL",
	[SIGUSR1] = "USR1",
	[SIGSEGV] = "SEGV",
	[SIGUSR2] = "USR2",
	[SIGPIPE] = "PIPE",
	[SIGALRM] = "ALRM",
	[SIGTERM] = "TERM",
	[SIGSTKFLT] = "STKFLT",
	[SIGCHLD] = "CHLD",
	[SIGCONT] = "CONT",
	[SIGSTOP] = "STOP",
	[SIGTSTP] = "TSTP",
	[SIGTTIN] = "TTIN",
	[SIGTTOU] = "TTOU",
	[SIGURG] = "URG",
	[SIGXCPU] = "XCPU",
	[SIGXFSZ] = "XFSZ",
	[SIGVTALRM] = "VTALRM",
	[SIGPROF] = "PROF",
	[SIGWINCH] = "WINCH",
	[SIGPOLL] = "POLL",
	[SIGPWR] = "PWR",
	[SIGSYS] = "SYS",
};

void bp_process_signal_text(const struct bp_process *process, char buffer[BP_SIGNAL_BYTES])
{
	const uint32_t number = process->end_signal;
	const char *name = number < BP_COUNT(signal_names) ? signal_names[number] : NULL;
	if (name != NULL)
		snprintf(buffer, BP_SIGNAL_BYTES, "SIG%.16s", name);
	else
		snprintf(buffer, BP_SIGNAL_BYTES, "signal %u", number);
}
