/* SPDX-License-Identifier: MIT */
/*
 * Runs scripts with Duktape, each in a thread and a heap of its own, and samples what they allocate
 * (sampled_heap.h). Scripts have print(...), and labels({key: value, ...}), which says what the
 * script works on from then on.
 *
 * The trace ends before the heaps are destroyed: what lives then is what the scripts have kept.
 *
 * Usage: bytepoll-duk [-c] [-m BYTES] SCRIPT...
 *	-c	print what Duktape asked for, counted above the sampled heap, as JSON
 *	-m	no heap may use more
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampled_heap.h"

#define SCRIPTS_MAX 64
#define LABELS_MAX 16

struct script {
	struct sampled_heap heap; /* first: what Duktape hands to its functions */
	const char *path;
	size_t limit;
	pthread_t thread;
	duk_context *context;
	bool failed;
	uint64_t bytes, objects; /* that Duktape asked for and got */
};

static void *count(struct script *script, void *object, duk_size_t size)
{
	if (object != NULL) {
		script->bytes += size;
		script->objects++;
	}
	return object;
}

static void *counted_alloc(void *script, duk_size_t size)
{
	return count(script, sampled_heap_alloc(script, size), size);
}

static void *counted_realloc(void *script, void *object, duk_size_t size)
{
	return count(script, sampled_heap_realloc(script, object, size), size);
}

static struct script *script_of(duk_context *context)
{
	duk_memory_functions functions;
	duk_get_memory_functions(context, &functions);
	return functions.udata;
}

static duk_ret_t print(duk_context *context)
{
	duk_push_string(context, " ");
	duk_insert(context, 0);
	duk_join(context, duk_get_top(context) - 1);
	puts(duk_safe_to_string(context, -1));
	return 0;
}

static duk_ret_t labels(duk_context *context)
{
	struct bp_host_label found[LABELS_MAX];
	uint32_t number = 0;
	duk_require_object(context, 0);
	duk_require_stack(context, 2 * LABELS_MAX + 2);
	duk_enum(context, 0, DUK_ENUM_OWN_PROPERTIES_ONLY);
	/* Keys and values stay on the stack until they are read. */
	while (number < LABELS_MAX && duk_next(context, 1, true)) {
		found[number].key = duk_to_string(context, -2);
		found[number].value = duk_to_string(context, -1);
		number++;
	}
	sampled_heap_labels(&script_of(context)->heap, found, number);
	return 0;
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	if (file == NULL)
		return NULL;
	if (getdelim(&text, &room, '\0', file) < 0 && feof(file) && text != NULL)
		text[0] = '\0';
	fclose(file);
	return text;
}

static bool run_text(struct script *script, const char *text)
{
	duk_context *context = script->context;
	duk_push_c_function(context, print, DUK_VARARGS);
	duk_put_global_string(context, "print");
	duk_push_c_function(context, labels, 1);
	duk_put_global_string(context, "labels");
	sampled_heap_does(&script->heap, "(compile)", script->path);
	duk_push_string(context, script->path);
	if (duk_pcompile_string_filename(context, 0, text) != DUK_EXEC_SUCCESS)
		return false;
	sampled_heap_does(&script->heap, "(call)", script->path);
	return duk_pcall(context, 0) == DUK_EXEC_SUCCESS;
}

static void *run(void *of)
{
	struct script *script = of;
	char *text = read_file(script->path);
	script->failed = true;
	if (text == NULL) {
		fprintf(stderr, "bytepoll-duk: %s: %s\n", script->path, strerror(errno));
		return NULL;
	}
	sampled_heap_begin(&script->heap, script->path, script->limit);
	sampled_heap_does(&script->heap, "(begin)", "");
	script->context =
		duk_create_heap(counted_alloc, counted_realloc, sampled_heap_free, script, NULL);
	if (script->context == NULL) {
		fprintf(stderr, "bytepoll-duk: %s: there is no memory for a heap\n", script->path);
	} else {
		sampled_heap_made(&script->heap, script->context);
		script->failed = !run_text(script, text);
		if (script->failed)
			fprintf(stderr, "bytepoll-duk: %s: %s\n", script->path,
				duk_safe_to_string(script->context, -1));
	}
	sampled_heap_end(&script->heap);
	free(text);
	return NULL;
}

static bool run_all(struct script *scripts, int number, bool prints)
{
	uint64_t bytes = 0, objects = 0;
	bool failed = false;
	for (int i = 0; i < number; i++)
		if (pthread_create(&scripts[i].thread, NULL, run, &scripts[i]) != 0)
			abort();
	for (int i = 0; i < number; i++) {
		pthread_join(scripts[i].thread, NULL);
		failed = failed || scripts[i].failed;
		bytes += scripts[i].bytes;
		objects += scripts[i].objects;
	}
	uint64_t used = 0;
	for (int i = 0; i < number; i++)
		used += scripts[i].heap.used;
	if (prints)
		printf("{\"bytes\": %" PRIu64 ", \"objects\": %" PRIu64 ", \"used\": %" PRIu64
		       "}\n",
			bytes, objects, used);
	return !failed;
}

int main(int argc, char **argv)
{
	static struct script scripts[SCRIPTS_MAX];
	char problem[BP_HOST_PROBLEM_BYTES];
	size_t limit = 0;
	bool prints = false, wrong = false;
	for (int option; (option = getopt(argc, argv, "cm:")) != -1;) {
		prints = prints || option == 'c';
		limit = option == 'm' ? strtoull(optarg, NULL, 10) : limit;
		wrong = wrong || option == '?';
	}
	const int number = argc - optind;
	if (wrong || number < 1 || number > SCRIPTS_MAX) {
		fprintf(stderr, "usage: bytepoll-duk [-c] [-m BYTES] SCRIPT...\n");
		return 2;
	}
	if (!sampled_heaps_open(problem))
		fprintf(stderr, "bytepoll-duk: %s\n", problem);
	for (int i = 0; i < number; i++) {
		scripts[i].path = argv[optind + i];
		scripts[i].limit = limit;
	}
	const bool succeeded = run_all(scripts, number, prints);
	sampled_heaps_close();
	for (int i = 0; i < number; i++)
		if (scripts[i].context != NULL)
			duk_destroy_heap(scripts[i].context);
	return succeeded ? 0 : 1;
}
