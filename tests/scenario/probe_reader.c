/* SPDX-License-Identifier: MIT */
/*
 * Stands in for a tracer: starts a program, puts a breakpoint on each of the probes it is told of,
 * raises their semaphores, and writes down every hit with its arguments, read from where the
 * probe's note says. So it is known what perf or bpftrace would see, with nothing lost, and without
 * the privileges that they take.
 *
 *   probe_reader OUTPUT OBJECT PROBE... -- [NAME=VALUE]... PROGRAM ARGUMENTS
 *     PROBE   OFFSET,SEMAPHORE,ARGUMENTS   offsets in the file OBJECT, hexadecimal; SEMAPHORE 0: it
 *     has none,
 *             or is not to be raised. ARGUMENTS as in the note, joined by commas; one that begins
 *             with `s` is the address of a string.
 *     NAME=VALUE  for the environment of the program alone
 *
 * The output holds a record for each hit, native 64-bit words: the probe's number on the command
 * line, the thread's id, the arguments; for a string its first STRING_BYTES, padded with zeros.
 * Then, on standard output, the hits of each probe. The exit status is the program's (128 + n for
 * signal n), or 125.
 *
 * The breakpoint is one byte and the instruction under it a no-operation of one byte, so the thread
 * goes on behind it as it stands: no stepping, and no moment without a breakpoint for other threads
 * to slip through. Threads and forks are followed; the program may not exec. x86-64.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBES 16
#define ARGUMENTS 16
#define STRING_BYTES 64
#define FAILED 125
#define NOP 0x90
#define BREAKPOINT 0xcc

struct argument {
	int bytes; /* negative: signed */
	size_t reg;
	long displacement;
	bool in_memory, is_string;
};

struct probe {
	uint64_t offset, semaphore_offset, address;
	struct argument arguments[ARGUMENTS];
	size_t argument_count;
	unsigned long hits;
};

static struct probe probes[PROBES];
static size_t probe_count;
static const char *object;
static FILE *output;

static void fail(const char *what)
{
	fprintf(stderr, "probe_reader: %s: %s\n", what, strerror(errno));
	exit(FAILED);
}

/* The place of a register in struct user_regs_struct. */
static size_t register_place(const char *name, size_t length)
{
	static const struct {
		const char *name;
		size_t place;
	} registers[] = {
#define REGISTER(word) { #word, offsetof(struct user_regs_struct, word) }
		REGISTER(rax),
		REGISTER(rbx),
		REGISTER(rcx),
		REGISTER(rdx),
		REGISTER(rsi),
		REGISTER(rdi),
		REGISTER(rbp),
		REGISTER(rsp),
		REGISTER(r8),
		REGISTER(r9),
		REGISTER(r10),
		REGISTER(r11),
		REGISTER(r12),
		REGISTER(r13),
		REGISTER(r14),
		REGISTER(r15),
	};
	for (size_t i = 0; i < sizeof registers / sizeof registers[0]; i++)
		if (strlen(registers[i].name) == length &&
			memcmp(registers[i].name, name, length) == 0)
			return registers[i].place;
	errno = EINVAL;
	fail(name);
	return 0;
}

/* `8@%rdi`, `-4@-16(%rsp)`, and `s8@%r8`. */
static void parse_argument(const char *text, struct argument *argument)
{
	char *at;
	argument->is_string = *text == 's';
	argument->bytes = (int)strtol(text + argument->is_string, &at, 10);
	if (*at++ != '@')
		fail(text);
	argument->in_memory = *at != '%';
	argument->displacement = strtol(at, &at, 10);
	if (argument->in_memory && *at++ != '(')
		fail(text);
	if (*at++ != '%')
		fail(text);
	argument->reg = register_place(at, strcspn(at, ")"));
}

static void parse_probe(char *text, struct probe *probe)
{
	char *word = strsep(&text, ",");
	probe->offset = strtoull(word, NULL, 16);
	word = strsep(&text, ",");
	if (word == NULL)
		fail("a probe without a semaphore");
	probe->semaphore_offset = strtoull(word, NULL, 16);
	while ((word = strsep(&text, ",")) != NULL && *word != '\0') {
		if (probe->argument_count == ARGUMENTS)
			fail("too many arguments");
		parse_argument(word, &probe->arguments[probe->argument_count++]);
	}
}

/* Where a piece of the object is mapped with that permission; 0: it is not (yet). */
static uint64_t address_of(pid_t pid, uint64_t offset, char permission)
{
	char name[64], line[4096 + 128];
	uint64_t found = 0;
	snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(name, "r");
	while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
		unsigned long start, end, from;
		char permissions[8], path[4096] = "";
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &start, &end, permissions,
			    &from, path) < 5 ||
			strcmp(path, object) != 0 || strchr(permissions, permission) == NULL)
			continue;
		if (offset >= from && offset < from + (end - start))
			found = start + (offset - from);
	}
	if (maps != NULL)
		fclose(maps);
	return found;
}

/* Breakpoints and semaphores, once everything is mapped: false if it is not. */
static bool plant(pid_t pid)
{
	uint64_t semaphores[PROBES];
	char name[64];
	for (size_t i = 0; i < probe_count; i++) {
		probes[i].address = address_of(pid, probes[i].offset, 'x');
		semaphores[i] = address_of(pid, probes[i].semaphore_offset, 'w');
		if (probes[i].address == 0 ||
			(probes[i].semaphore_offset != 0 && semaphores[i] == 0))
			return false;
	}
	snprintf(name, sizeof name, "/proc/%d/mem", (int)pid);
	const int memory = open(name, O_RDWR | O_CLOEXEC);
	if (memory < 0)
		fail(name);
	for (size_t i = 0; i < probe_count; i++) {
		uint8_t code;
		uint16_t count;
		if (pread(memory, &code, 1, (off_t)probes[i].address) != 1 || code != NOP) {
			fprintf(stderr, "probe_reader: no no-operation at probe %zu\n", i);
			exit(FAILED);
		}
		code = BREAKPOINT;
		if (pwrite(memory, &code, 1, (off_t)probes[i].address) != 1)
			fail("breakpoint");
		if (probes[i].semaphore_offset == 0)
			continue;
		if (pread(memory, &count, sizeof count, (off_t)semaphores[i]) != sizeof count)
			fail("semaphore");
		count++;
		if (pwrite(memory, &count, sizeof count, (off_t)semaphores[i]) != sizeof count)
			fail("semaphore");
	}
	close(memory);
	return true;
}

/* Reads at most so many bytes, up to the end of the page if the next is not there. */
static void read_memory(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	while (bytes > 0) {
		struct iovec here = { to, bytes };
		struct iovec there = { (void *)(uintptr_t)address, bytes };
		const size_t in_page = 4096 - address % 4096;
		if (process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes ||
			bytes <= in_page)
			return;
		bytes = in_page;
	}
}

static uint64_t cut(uint64_t value, int bytes)
{
	const int shift = 64 - 8 * abs(bytes);
	return bytes < 0 ? (uint64_t)((int64_t)(value << shift) >> shift) : value << shift >> shift;
}

static void write_hit(pid_t tid, size_t number, const struct user_regs_struct *registers)
{
	const struct probe *probe = &probes[number];
	uint64_t words[2] = { number, (uint64_t)tid };
	fwrite(words, sizeof words, 1, output);
	for (size_t i = 0; i < probe->argument_count; i++) {
		const struct argument *argument = &probe->arguments[i];
		char text[STRING_BYTES] = "";
		uint64_t value;
		memcpy(&value, (const char *)registers + argument->reg, sizeof value);
		if (argument->in_memory)
			read_memory(tid, value + (uint64_t)argument->displacement, &value,
				sizeof value);
		value = cut(value, argument->bytes);
		if (!argument->is_string) {
			fwrite(&value, sizeof value, 1, output);
			continue;
		}
		read_memory(tid, value, text, sizeof text);
		memset(text + strnlen(text, sizeof text), 0,
			sizeof text - strnlen(text, sizeof text));
		fwrite(text, sizeof text, 1, output);
	}
}

/* True: the trap was a breakpoint of ours. */
static bool take_hit(pid_t tid)
{
	struct user_regs_struct registers;
	if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) != 0)
		return false;
	for (size_t i = 0; i < probe_count; i++)
		if (registers.rip == probes[i].address + 1) {
			probes[i].hits++;
			write_hit(tid, i, &registers);
			return true;
		}
	return false;
}

static pid_t start(char **arguments)
{
	const pid_t pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		for (; strchr(*arguments, '=') != NULL; arguments++)
			putenv(*arguments);
		execv(arguments[0], arguments);
		_exit(FAILED);
	}
	int status;
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		fail(arguments[0]);
	ptrace(PTRACE_SETOPTIONS, pid, NULL,
		PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	while (!plant(pid)) {
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
			fprintf(stderr, "probe_reader: the program never maps %s\n", object);
			exit(FAILED);
		}
	}
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	return pid;
}

/* What a stopped thread is to be continued with. */
static int signal_of(pid_t tid, int status)
{
	const int number = WSTOPSIG(status);
	if (number == SIGTRAP && (status >> 16 != 0 || take_hit(tid)))
		return 0; /* an event of ptrace, or a hit */
	if (number == SIGSTOP)
		return 0; /* a new thread's first stop */
	return number;
}

static int follow(pid_t first)
{
	int status, result = FAILED;
	for (pid_t tid; (tid = waitpid(-1, &status, __WALL)) > 0;) {
		if (WIFSTOPPED(status))
			ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)signal_of(tid, status));
		else if (tid == first)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return result;
}

int main(int argument_count, char **arguments)
{
	int at = 3;
	if (argument_count < 6) {
		fprintf(stderr,
			"usage: probe_reader OUTPUT OBJECT PROBE... -- PROGRAM ARGUMENTS\n");
		return FAILED;
	}
	output = fopen(arguments[1], "we");
	if (output == NULL)
		fail(arguments[1]);
	object = arguments[2];
	for (; at < argument_count && strcmp(arguments[at], "--") != 0; at++) {
		if (probe_count == PROBES)
			fail("too many probes");
		parse_probe(arguments[at], &probes[probe_count++]);
	}
	if (at + 1 >= argument_count)
		fail("no program");
	const int result = follow(start(arguments + at + 1));
	if (fclose(output) != 0)
		fail(arguments[1]);
	for (size_t i = 0; i < probe_count; i++)
		printf("%lu\n", probes[i].hits);
	return result;
}
