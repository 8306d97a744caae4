/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll doctor PROGRAM|PID`: can this be profiled, what is in the way, and what will not be
 * seen.
 *
 * A list of checks, each of which prints one line: `ok`, `problem` (it cannot be profiled: exit
 * status 1) or `note` (it can, but something will be missing). Everything is read from files,
 * except that glibc's loader is asked which libraries it would load, and that the file of the
 * trace is made and removed again, as `run` does before it starts a program; nothing of the program
 * itself runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/attach/refusals.h"
#include "cli/command.h"
#include "cli/control/control_words.h"
#include "cli/control/schedule.h"
#include "cli/doctor/doctor_process.h"
#include "cli/dotnet/dotnet_port.h"
#include "cli/files/output_file.h"
#include "cli/options/options.h"
#include "cli/process/elf_file.h"
#include "cli/process/libraries.h"
#include "cli/process/own_heaps.h"
#include "cli/process/recorder_file.h"
#include "cli/traced/traced.h"
#include "cli/run/program.h"
#include "cli/say.h"
#include "import/import.h"
#include "model/gaps/python_state.h"
#include "model/names/process_name.h"
#include "symbols/files/debug_package.h"
#include "text/quantity.h"
#include "trace/format.h"

#define SUBJECT_BYTES 8192

struct examination {
	struct bp_program program;
	struct bp_elf_file image;
	struct bp_libraries libraries;
	bool libraries_known, recorder_loaded;
	bool traced; /* it runs under a recorder */
	bool attachable, holds_python;
	pid_t pid; /* 0: a program that does not run yet */
	int problems;
};

BP_PRINTF(2, 3) static void say(const char *what, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	printf("  %-8s ", what);
	bp_say_arguments(stdout, format, arguments);
	putchar('\n');
	va_end(arguments);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool is_shell(const char *image)
{
	static const char *const names[] = { "sh", "bash", "dash", "zsh", "ksh", "ash", "busybox" };
	for (size_t i = 0; i < BP_COUNT(names); i++)
		if (strcmp(base_name(image), names[i]) == 0)
			return true;
	return false;
}

static void check_kind(struct examination *e)
{
	const char *text = bp_obstacle_text(e->program.obstacle);
	if (strcmp(e->program.path, e->program.image) != 0 && is_shell(e->program.image))
		say("note",
			"a script, run by %s: what follows is about that; run doctor on what it "
			"starts",
			e->program.image);
	else if (strcmp(e->program.path, e->program.image) != 0)
		say("ok", "a script, run by %s", e->program.image);
	if (e->program.obstacle == BP_OBSTACLE_SCRIPT) {
		say("ok", "neither ELF nor #!: the shell runs it");
	} else if (e->program.obstacle == BP_OBSTACLE_VALGRIND && e->pid != 0) {
		return; /* said with what else there is to say of a process */
	} else if (*text != '\0') {
		say("problem", "it %s", text);
		e->problems++;
	} else if (e->program.loader[0] != '\0') {
		say("ok", "dynamic executable, loaded by %s", e->program.loader);
	}
}

/* Part of the program's own machinery, whose malloc is no surprise. */
static bool is_system_library(const char *name)
{
	return begins_with(name, "libc.so.") || begins_with(name, "libc-") ||
	       begins_with(name, "ld-linux") || bp_recorder_file_is(name);
}

/* A malloc inside the executable is found before any preloaded one. */
static bool check_image_malloc(struct examination *e)
{
	if (bp_elf_defines(&e->image, "malloc") == BP_ELF_UNDEFINED)
		return true;
	say("problem",
		"has a malloc of its own inside (as of jemalloc or tcmalloc, linked in): build "
		"it with libc's, or with its allocator as a shared library");
	return false;
}

static bool exports_malloc(const char *path)
{
	struct bp_elf_file file;
	enum bp_elf_definition definition;
	if (!bp_elf_file_open(path, &file, NULL))
		return false;
	definition = bp_elf_defines(&file, "malloc");
	bp_elf_file_close(&file);
	return definition == BP_ELF_EXPORTED;
}

/* The library whose malloc is not glibc's; NULL if there is none. */
static const char *foreign_malloc(const struct examination *e)
{
	for (size_t i = 0; i < e->libraries.count; i++) {
		const char *path = e->libraries.paths[i];
		if (strcmp(path, e->program.image) != 0 && !is_system_library(base_name(path)) &&
			exports_malloc(path))
			return path;
	}
	return NULL;
}

static void check_malloc(struct examination *e)
{
	const bool good = e->program.loader[0] == '\0' || check_image_malloc(e);
	if (e->program.obstacle == BP_OBSTACLE_SANITIZER)
		return; /* said already */
	if (!good) {
		e->problems++;
		return;
	}
	const char *foreign = foreign_malloc(e);
	if (foreign != NULL)
		say("ok",
			"malloc comes from %s: sampled objects stay in its heap, and free looks "
			"them up",
			foreign);
	else if (e->libraries_known)
		say("ok", "malloc is glibc's own: free knows sampled objects by the word before "
			  "them");
}

static void check_libraries(struct examination *e)
{
	for (size_t i = 0; i < e->libraries.missing_count; i++) {
		say("problem", "the library %s is not found: the program will not start",
			e->libraries.missing[i]);
		e->problems++;
	}
	for (size_t i = 0; i < e->libraries.count; i++)
		if (bp_recorder_file_is(base_name(e->libraries.paths[i])))
			e->recorder_loaded = true;
	if (e->recorder_loaded)
		say("ok", "the recorder is loaded");
	if (!e->libraries_known && e->program.loader[0] != '\0')
		say("note", "its libraries are not known: %s is no loader bytepoll asks",
			e->program.loader);
}

static void say_stripped(const struct examination *e, bool link)
{
	char package[96], *file = realpath(e->program.image, NULL);
	const bool known =
		file != NULL && bp_debug_package(BP_DPKG_LISTS, file, package, sizeof package);
	say("note",
		"stripped%s: exported names and offsets only, unless its debug file is "
		"installed (%s%s%s) or it is built with -g",
		link ? ", debug information is a file of its own" : "",
		known ? "Debian: " : "the -dbgsym package", known ? package : "",
		!known || strstr(package, "-dbgsym") != NULL ? ", from debian-debug: docs/report.md"
							     : "");
	free(file);
}

/* What names and lines the report will have. */
static void check_symbols(const struct examination *e)
{
	bool lines = bp_elf_has_section(&e->image, ".debug_info");
	bool link = bp_elf_has_section(&e->image, ".gnu_debuglink");
	bool names = bp_elf_has_section(&e->image, ".symtab");
	if (lines)
		say("ok", "debug information: functions, inlined frames and lines will be shown");
	else if (names)
		say("note", "no debug information: functions without lines (build it with -g)");
	else
		say_stripped(e, link);
	if (!bp_elf_has_build_id(&e->image))
		say("note", "no build-id: addresses are only named while the file is unchanged "
			    "(link with -Wl,--build-id)");
	if (!bp_elf_has_section(&e->image, ".eh_frame"))
		say("note", "no .eh_frame: stacks end in its code (build it with "
			    "-fasynchronous-unwind-tables)");
}

/* Heaps that it has beside malloc. */
static void check_own_heaps(struct examination *e)
{
	bp_own_heaps heaps = bp_own_heaps_of_file(e->program.path, true) |
			     bp_own_heaps_of_file(e->program.image, true) |
			     bp_own_heaps_of_elf(&e->image, e->program.image);
	for (size_t i = 0; i < e->libraries.count; i++)
		heaps |= bp_own_heaps_of_file(e->libraries.paths[i], false);
	e->holds_python = (heaps & 1u << BP_OWN_HEAP_PYTHON) != 0;
	if (e->holds_python)
		say("note", "the functions of CPython 3.8 to 3.14 are recorded, and its objects of "
			    "up to 512 bytes, which lie in arenas of its own; not those of a "
			    "free-threaded build. Of another version run it with "
			    "PYTHONMALLOC=malloc in its environment to see its objects");
	for (int heap = BP_OWN_HEAP_V8; heap < BP_OWN_HEAP_COUNT; heap++)
		if ((heaps & 1u << heap) != 0)
			say("note", "%s; %s", bp_own_heap_text((enum bp_own_heap)heap),
				bp_own_heap_remedy((enum bp_own_heap)heap));
	if ((heaps & 1u << BP_OWN_HEAP_ALLOCATOR) != 0)
		say("note", "that allocator's function is %s", bp_own_heap_function(&e->image));
}

/* Of a running process whose trace cannot be opened, for `reason`: could it be recorded from now
 * on? */
static void check_attach(struct examination *e, const char *reason)
{
	struct bp_error error = { 0 };
	e->attachable = bp_may_attach(e->pid, false, &error);
	if (e->attachable) {
		say("ok", "bytepoll attach %ld can record it from now on", (long)e->pid);
		if (e->holds_python)
			say("note",
				"attached, its small objects are recorded once it runs Python "
				"again, if it has Python's own allocators (no tracemalloc, no -X "
				"dev), and from 3.12 on no sub-interpreters");
	} else if (e->recorder_loaded) {
		say("note", "it cannot be controlled: %s", reason);
	} else {
		say("note", "bytepoll attach cannot record it as it runs: %s", error.text);
	}
}

/* What the trace lacks of the CPython in its process. */
static void say_python(const char *path)
{
	struct bp_profile profile;
	struct bp_error error;
	char lines[BP_PYTHON_LINES][BP_PYTHON_LINE_BYTES];
	if (!bp_profile_init(&profile, &error))
		return;
	if (bp_import_one_process(path, &profile, &error) && profile.processes.count > 1) {
		const uint32_t count =
			bp_python_missing_lines(&profile, &profile.processes.data[1].python, lines);
		for (uint32_t i = 0; i < count; i++)
			say("note", "%s", lines[i]);
	}
	bp_profile_finish(&profile);
}

/* Of a running process: is it being profiled, and may we steer it? */
static void check_control(struct examination *e)
{
	struct bp_traced traced;
	struct bp_error error = { 0 };
	char interval[BP_QUANTITY_BYTES], times[BP_SCHEDULE_TEXT_BYTES];
	if (e->pid == 0)
		return;
	if (bp_dotnet_port_exists(e->pid))
		say("note",
			"a .NET program: what it allocates itself is recorded by bytepoll dotnet "
			"%ld, while it runs",
			(long)e->pid);
	if (!bp_traced_open(e->pid, true, &traced, &error)) {
		check_attach(e, error.text);
		return;
	}
	const struct bp_control control = bp_control_read(traced.state, &traced.header);
	bp_sampling_text(
		control.interval, control.interval, (struct bp_quantity_style){ 0 }, interval);
	say("ok", "bytepoll control %ld steers it: sampling is %s%s%s", (long)e->pid,
		control.on ? "on, " : "off; start takes up ", interval,
		control.automatic    ? ", automatic"
		: control.fine_start ? ", finer at the start"
				     : "");
	const struct bp_schedule window = bp_schedule_of(&traced);
	bp_schedule_text(&window, times);
	if (*times != '\0')
		say("note", "by its --delay and --duration sampling %s", times);
	e->traced = true;
	say("ok", "its trace is %s", traced.path);
	say_python(traced.path);
	bp_traced_close(&traced);
}

/* Would `run` with this -o (NULL: none) find a place for the trace? Without -o the user can still
 * choose another place, so that it is a note. */
static void check_output(struct examination *e, const char *program, const char *given)
{
	char path[PATH_MAX];
	struct bp_set_aside earlier;
	struct bp_error error = { 0 };
	const bool good =
		bp_output_path(given, program, getpid(), "bpt", path, sizeof path, &error) &&
		bp_output_prepare(path, false, &earlier, &error);
	if (good && given != NULL)
		say("ok", "the trace can be written to %s", path);
	else if (good)
		return;
	else if (given == NULL)
		say("note", "bytepoll run needs -o here: %s", error.text);
	else
		say("problem", "%s", error.text);
	e->problems += !good && given != NULL;
}

/* Program and libraries of `operand`; an error if there is no such thing. */
static bool look_up(struct examination *e, const char *operand, struct bp_error *error)
{
	char link[64], resolved[PATH_MAX];
	ssize_t length;
	int status;
	if (e->pid == 0) {
		if (!bp_program_find(operand, &e->program, &status, error))
			return false;
		bp_program_examine(&e->program);
		/* The loader takes what stands before a link for $ORIGIN, where the kernel does
		 * not. */
		return bp_libraries_of_program(
			realpath(e->program.image, resolved) != NULL ? resolved : e->program.image,
			e->program.loader, &e->libraries, &e->libraries_known, error);
	}
	snprintf(link, sizeof link, "/proc/%ld/exe", (long)e->pid);
	length = readlink(link, e->program.path, sizeof e->program.path - 1);
	if (length < 0 && errno == ENOENT)
		return bp_error_set(error, "there is no process %s", operand);
	if (length < 0)
		return bp_error_set(error,
			"process %s cannot be looked at: %s: be its owner or root", operand,
			strerror(errno));
	e->program.path[length] = '\0';
	if (access(e->program.path, F_OK) != 0)
		strcpy(e->program.path, link); /* deleted, or of another root: by way of /proc */
	bp_program_examine(&e->program);
	e->libraries_known = true;
	return bp_libraries_of_process(e->pid, &e->libraries, error);
}

/* A process by the name that it was started as (model/names/process_name.h), and its executable. */
static void say_subject(const struct examination *e, const char *operand)
{
	char words[SUBJECT_BYTES], file[64];
	size_t bytes = 0;
	if (e->pid == 0) {
		bp_say(stdout, "%s: %s", operand, e->program.path);
		return;
	}
	snprintf(file, sizeof file, "/proc/%ld/cmdline", (long)e->pid);
	FILE *command_line = fopen(file, "re");
	size_t length = command_line != NULL ? fread(words, 1, sizeof words - 1, command_line) : 0;
	if (command_line != NULL)
		fclose(command_line);
	while (length > 0 && words[length - 1] == '\0')
		length--;
	for (size_t i = 0; i < length; i++)
		words[i] = words[i] == '\0' ? ' ' : words[i];
	words[length] = '\0';
	const char *name = bp_process_name_from(words, e->program.path, &bytes);
	bp_say(stdout, "%s: %.*s (%s)", operand, (int)bytes, name, e->program.path);
}

static int run(const struct bp_arguments *arguments)
{
	struct examination e = { 0 };
	struct bp_error error = { 0 };
	const char *operand, *output = bp_option_value(arguments, "output");
	if (arguments->operand_count != 1)
		return bp_command_fail_usage(
			arguments->command, "doctor takes one program or process id");
	operand = arguments->operands[0];
	e.pid = bp_traced_pid(operand);
	if (e.pid != 0 && output != NULL)
		return bp_command_fail_usage(arguments->command,
			"-o goes with a program that does not run yet: the trace of a running one "
			"is made by that process (bytepoll attach -o)");
	if (output != NULL && !bp_output_may_be_named(output, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	if (!look_up(&e, operand, &error))
		return bp_command_fail(1, &error);
	if (!bp_elf_file_open(e.program.image, &e.image, &error)) {
		bp_libraries_finish(&e.libraries);
		return bp_command_fail(1, &error);
	}
	say_subject(&e, operand);
	check_kind(&e);
	check_libraries(&e);
	check_malloc(&e);
	if (e.image.readable)
		check_symbols(&e);
	check_own_heaps(&e);
	if (e.pid != 0)
		e.problems += bp_doctor_process(e.pid, e.program.image, say);
	else
		check_output(&e, operand, output);
	bp_doctor_machine(say);
	check_control(&e);
	const bool runs_alone = e.pid != 0 && !e.traced && !e.recorder_loaded;
	puts(e.problems > 0		     ? "cannot be profiled"
		: runs_alone && e.attachable ? "can be profiled as it runs, by bytepoll attach"
		: runs_alone ? "can be profiled, by bytepoll run from its start on: not as it runs"
			     : "can be profiled");
	bp_elf_file_close(&e.image);
	bp_libraries_finish(&e.libraries);
	return e.problems == 0 ? 0 : 1;
}

static const struct bp_option options[] = {
	{ .name = "output",
		.letter = 'o',
		.argument = "FILE",
		.file = true,
		.summary = "also: can bytepoll run write its trace to FILE?" },
	{ 0 },
};

const struct bp_command bp_command_doctor = {
	.name = "doctor",
	.summary = "can this program be profiled? what is in the way?",
	.usage = "[options] PROGRAM|PID",
	.options = options,
	.details =
		"Looks at the program's file and libraries, or at those of a running process, and\n"
		"says what stands in the way of profiling it and what a report will not show; of a\n"
		"process that is being profiled also how, and whether it can be steered.\n"
		"Nothing of the program is run, and nothing is left behind: the file in which run\n"
		"would write the trace is made and removed again.\n",
	.examples = "bytepoll doctor redis-server\nbytepoll doctor -o /var/log/app.bpt ./app\n"
		    "bytepoll doctor 4121\n",
	.exit_statuses = "0  it can be profiled\n"
			 "1  it cannot, or there is no such program or process\n"
			 "2  wrong usage\n",
	.usage_status = 2,
	.run = run,
};
