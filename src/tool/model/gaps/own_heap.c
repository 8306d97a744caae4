/* SPDX-License-Identifier: MIT */
/* Runtimes by the names of their files: a table, and their words; see own_heap.h. */
#include "model/gaps/own_heap.h"

#include <string.h>

#include "base/attributes.h"
#include "base/path.h"
#include "model/gaps/python_state.h"

/* The beginning of the last part of a path. */
static const struct {
	const char *start;
	bool program; /* of what is run; otherwise of a library */
	enum bp_own_heap heap;
} files[] = {
	{ "python", true, BP_OWN_HEAP_PYTHON },
	{ "libpython", false, BP_OWN_HEAP_PYTHON },
	{ "node", true, BP_OWN_HEAP_V8 },
	{ "deno", true, BP_OWN_HEAP_V8 },
	{ "libv8", false, BP_OWN_HEAP_V8 },
	{ "libnode", false, BP_OWN_HEAP_V8 },
	{ "libjvm.so", false, BP_OWN_HEAP_JVM },
	{ "libjli.so", false, BP_OWN_HEAP_JVM },
};

static const struct {
	const char *name, *what, *text, *remedy;
} words[BP_OWN_HEAP_COUNT] = {
	[BP_OWN_HEAP_PYTHON] = { "python", "Python's arenas",
		"Python keeps objects of up to 512 bytes in arenas that it maps itself, not by "
		"malloc",
		"record it with bytepoll run --python all, or run it with PYTHONMALLOC=malloc in "
		"its environment, to see each of them" },
	[BP_OWN_HEAP_FREE_THREADED] = { "python", "Python's heap",
		"this Python is free-threaded and keeps its objects in a heap that it maps itself, "
		"not by malloc",
		"run the program with a build that has the GIL to see each of them" },
	[BP_OWN_HEAP_V8] = { "v8", "V8's heap",
		"JavaScript objects lie in V8's heap, which it maps itself: only the memory of "
		"native code and buffers is malloc's",
		"see them by V8's own profile (node --heap-prof)" },
	[BP_OWN_HEAP_JVM] = { "jvm", "Java's heap",
		"Java's objects lie in a heap that the virtual machine maps itself: only the "
		"memory of native code is malloc's",
		"see them by the virtual machine's own profile (jcmd PID GC.class_histogram)" },
	[BP_OWN_HEAP_GO] = { "go", "Go's heap",
		"Go does not use malloc: only the memory of C code in it is malloc's",
		"see its objects by Go's own heap profile (runtime/pprof), which bytepoll report "
		"reads" },
	[BP_OWN_HEAP_ALLOCATOR] = { "allocator", "an allocator linked in",
		"an allocator is linked in that the program calls by a name of its own, not by "
		"malloc",
		"build the program with libc's malloc, or with its allocator as a shared library" },
};

bp_own_heaps bp_own_heaps_of_file(const char *path, bool program)
{
	const char *name = bp_last_part(path);
	bp_own_heaps heaps = 0;
	for (size_t i = 0; i < BP_COUNT(files); i++)
		if (files[i].program == program &&
			strncmp(name, files[i].start, strlen(files[i].start)) == 0)
			heaps |= 1u << files[i].heap;
	return heaps;
}

static bp_own_heaps unseen_of(const struct bp_process *process, const char *path, bool program)
{
	const struct bp_process_python *python = &process->python;
	bp_own_heaps heaps = bp_own_heaps_of_file(path, program);
	const bool is_python = (heaps & 1u << BP_OWN_HEAP_PYTHON) != 0;
	if (is_python && bp_python_objects_are_seen(python))
		heaps &= ~(1u << BP_OWN_HEAP_PYTHON);
	else if (is_python && python->known &&
		 python->frames_state == BP_PROFILE_PYTHON_FREE_THREADED)
		heaps ^= 1u << BP_OWN_HEAP_PYTHON | 1u << BP_OWN_HEAP_FREE_THREADED;
	return heaps;
}

bp_own_heaps bp_own_heaps_of_modules(const struct bp_profile *profile, uint32_t pid)
{
	bp_own_heaps heaps = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (pid == 0 || process->pid == pid)
			heaps |= unseen_of(
				process, bp_profile_text(profile, process->program), true);
	}
	for (uint32_t i = 1; i < profile->modules.count; i++) {
		const struct bp_module *module = &profile->modules.data[i];
		const struct bp_process *process = &profile->processes.data[module->process.i];
		if (pid == 0 || process->pid == pid)
			heaps |= unseen_of(process, bp_profile_text(profile, module->path), false);
	}
	return heaps;
}

const char *bp_own_heap_name(enum bp_own_heap heap)
{
	return words[heap].name;
}

const char *bp_own_heap_text(enum bp_own_heap heap)
{
	return words[heap].text;
}

const char *bp_own_heap_remedy(enum bp_own_heap heap)
{
	return words[heap].remedy;
}

const char *bp_own_heap_what(enum bp_own_heap heap)
{
	return words[heap].what;
}
