/* SPDX-License-Identifier: MIT */
/*
 * Servers are asked only where the command line says so: DEBUGINFOD_URLS alone, which distributions
 * set for everybody, would tell somebody else's server which programs are profiled here.
 */
#include "cli/options/symbol_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/options/options.h"

/* Until taken: no server, and the cache as the environment says. */
static struct bp_symbol_options taken = { .cache = true };

static bool has_option(const struct bp_command *command, const char *name)
{
	for (const struct bp_option *option = command->options;
		option != NULL && (option->name != NULL || option->summary != NULL); option++)
		if (option->name != NULL && strcmp(option->name, name) == 0)
			return true;
	return false;
}

static bool is_url(const char *word, size_t bytes)
{
	static const char *const schemes[] = { "http://", "https://", "file://" };
	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
		if (bytes > strlen(schemes[i]) &&
			strncmp(word, schemes[i], strlen(schemes[i])) == 0)
			return true;
	return false;
}

/* URLs, separated by spaces. */
static bool check_urls(const char *urls, struct bp_error *error)
{
	const char *at = urls;
	unsigned count = 0;
	for (; *at != '\0'; count++) {
		size_t bytes = strcspn(at, " ");
		if (bytes > 0 && !is_url(at, bytes))
			return bp_error_set(error,
				"--debuginfod %.200s: is no URL of a server (http://...), nor the "
				"word environment",
				urls);
		at += bytes;
		at += strspn(at, " ");
	}
	for (at = urls; *at != '\0'; at++)
		if (iscntrl((unsigned char)*at))
			return bp_error_set(error, "--debuginfod: control character in a URL");
	return count > 0 ||
	       bp_error_set(error, "--debuginfod: names no server (a URL, or environment)");
}

static bool take_servers(const char *value, struct bp_error *error)
{
	if (value == NULL)
		return true;
	if (strcmp(value, "environment") == 0) {
		value = getenv("DEBUGINFOD_URLS");
		if (value == NULL || value[0] == '\0')
			return bp_error_set(error,
				"--debuginfod environment: DEBUGINFOD_URLS is not set; give URLs");
	}
	taken.debuginfod_urls = value;
	return check_urls(value, error);
}

static bool check_debug_directory(const char *path, struct bp_error *error)
{
	struct stat status;
	if (path == NULL || (stat(path, &status) == 0 && S_ISDIR(status.st_mode)))
		return true;
	return bp_error_set(error,
		"--debug-directory %s: is no directory; name one that is laid out as "
		"/usr/lib/debug",
		path);
}

bool bp_symbol_options_take(const struct bp_arguments *arguments, struct bp_error *error)
{
	if (has_option(arguments->command, "debug-directory") &&
		!check_debug_directory(bp_option_value(arguments, "debug-directory"), error))
		return false;
	if (has_option(arguments->command, "no-symbol-cache"))
		taken.cache = !bp_option_given(arguments, "no-symbol-cache");
	if (has_option(arguments->command, "debuginfod"))
		return take_servers(bp_option_value(arguments, "debuginfod"), error);
	return true;
}

struct bp_symbol_options bp_symbol_options_with(const char *debug_directory)
{
	struct bp_symbol_options options = taken;
	const char *cache = getenv("BYTEPOLL_CACHE");
	options.debug_directory = debug_directory;
	if (cache != NULL && strcmp(cache, "off") == 0)
		options.cache = false;
	return options;
}
