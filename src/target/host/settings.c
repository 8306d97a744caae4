/* SPDX-License-Identifier: MIT */
/*
 * The settings that every host reads from the environment alike, and the words for what is wrong
 * with them. Without stdio: these functions may be called before the C library is ready.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/number.h"
#include "base/system_call.h"
#include "host/config.h"

/* The most bytes of a value that an error shows. */
#define SHOWN_BYTES 60

struct line {
	char *at, *end;
};

static void put(struct line *line, const char *text)
{
	for (; *text != '\0' && line->at < line->end; text++)
		*line->at++ = *text;
	*line->at = '\0';
}

/* A value as one line may show it: short, and without control bytes. */
static void put_value(struct line *line, const char *value)
{
	char shown[SHOWN_BYTES + 1];
	size_t bytes = 0;
	for (; value[bytes] != '\0' && bytes < SHOWN_BYTES; bytes++)
		shown[bytes] = value[bytes] >= ' ' && value[bytes] <= '~' ? value[bytes] : '?';
	shown[bytes] = '\0';
	put(line, shown);
}

static bool refuse(char *problem, const char *name, const char *value, const char *what)
{
	struct line line = { problem, problem + BP_HOST_PROBLEM_BYTES - 1 };
	put(&line, name);
	put(&line, " is '");
	put_value(&line, value);
	put(&line, "': ");
	put(&line, what);
	return false;
}

static uint64_t drawn_seed(void)
{
	uint64_t seed = 0;
	bp_system_random(&seed, sizeof seed);
	return seed;
}

bool bp_host_settings(struct bp_host_options *options, char *problem)
{
	const char *interval = secure_getenv(BP_ENV_INTERVAL), *seed = secure_getenv(BP_ENV_SEED);
	const char *start = secure_getenv(BP_ENV_START);
	struct bp_host_options read = *options;
	problem[0] = '\0';
	if (read.interval == 0)
		read.interval = BP_INTERVAL_DEFAULT;
	if (interval != NULL && (!bp_number_read(interval, &read.interval) || read.interval == 0 ||
					read.interval > BP_INTERVAL_MAX))
		return refuse(problem, BP_ENV_INTERVAL, interval,
			"give bytes from 1 to 1024 GiB, as 524288 or 512K");
	if (seed != NULL && !bp_number_read(seed, &read.seed))
		return refuse(problem, BP_ENV_SEED, seed, "give a number below 2^64");
	if (seed != NULL)
		read.seed_given = true;
	else if (!read.seed_given)
		read.seed = drawn_seed();
	if (start != NULL) {
		if (__builtin_strcmp(start, "dormant") != 0)
			return refuse(
				problem, BP_ENV_START, start, "it may be 'dormant', or not set");
		read.dormant = true;
	}
	*options = read;
	return true;
}

static const char *reason(int why)
{
	static const struct {
		int why;
		const char *text;
	} reasons[] = {
		{ EEXIST, "the file exists, and is not replaced" },
		{ ENOENT, "its folder does not exist" },
		{ ENOTDIR, "its folder is not a folder" },
		{ EACCES, "its folder may not be written" },
		{ EROFS, "the file system is read-only" },
		{ ENOSPC, "the disk is full" },
		{ EFBIG, "a limit on the size of files is too low" },
		{ EMFILE, "the process has too many open files" },
		{ ENFILE, "the system has too many open files" },
		{ ENOMEM, "there is no memory" },
		{ ENAMETOOLONG, "the path is too long" },
		{ EPERM, "a program with more rights than its caller has to name the file itself" },
		{ EINVAL, "the options of the host are not valid" },
	};
	for (size_t i = 0; i < BP_COUNT(reasons); i++)
		if (reasons[i].why == why)
			return reasons[i].text;
	return "the system refused to make it";
}

void bp_host_open_problem(const struct bp_host_options *options, int why, char *problem)
{
	struct line line = { problem, problem + BP_HOST_PROBLEM_BYTES - 1 };
	const char *path =
		options->path != NULL ? options->path : secure_getenv(BP_ENV_HOST_OUTPUT);
	put(&line, "cannot write the trace ");
	put_value(&line, path != NULL && *path != '\0' ? path : "bytepoll.<pid>.bpt");
	put(&line, ": ");
	put(&line, reason(why));
	if (options->path == NULL)
		put(&line, "; " BP_ENV_HOST_OUTPUT " says where it goes");
}
