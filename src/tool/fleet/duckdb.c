/* SPDX-License-Identifier: MIT */
/* See duckdb.h. The script and what goes wrong are files without a name, so that only the answer is
 * a pipe, and nobody waits for the other. */
#include "fleet/duckdb.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMPLAINT_BYTES 400

extern char **environ;

static bool wrong_answer(struct bp_error *error)
{
	return bp_error_set(error, "the engine: its answer is not what was asked for");
}

bool bp_duckdb_number(const struct bp_duckdb_row *row, uint32_t number,
	struct bp_parquet_value *ret_value, struct bp_error *error)
{
	char *end;
	if (number >= row->count)
		return wrong_answer(error);
	const char *text = row->fields[number];
	errno = 0;
	const long long value = strtoll(text, &end, 10);
	if (*end != '\0' || errno != 0)
		return wrong_answer(error);
	*ret_value = (struct bp_parquet_value){ .null = *text == '\0', .number = value };
	return true;
}

static int digit(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	return character >= 'A' && character <= 'F' ? character - 'A' + 10 : -1;
}

bool bp_duckdb_text(struct bp_duckdb_row *row, uint32_t number, struct bp_parquet_value *ret_value,
	struct bp_error *error)
{
	if (number >= row->count)
		return wrong_answer(error);
	char *text = row->fields[number], *to = text;
	for (const char *at = text; *at != '\0'; at += 2) {
		const int high = digit(at[0]), low = high < 0 ? -1 : digit(at[1]);
		if (low < 0)
			return wrong_answer(error);
		*to++ = (char)(high << 4 | low);
	}
	*to = '\0';
	*ret_value = (struct bp_parquet_value){ .text = text };
	return true;
}

bool bp_duckdb_script(FILE **ret_script, struct bp_error *error)
{
	const int descriptor = memfd_create("script", MFD_CLOEXEC);
	*ret_script = descriptor < 0 ? NULL : fdopen(descriptor, "w");
	return *ret_script != NULL ||
	       bp_error_set(error, "a script for duckdb: %s", strerror(errno));
}

void bp_duckdb_write_text(FILE *script, const char *text)
{
	fputs("decode(from_hex('", script);
	for (; *text != '\0'; text++)
		fprintf(script, "%02X", (unsigned char)*text);
	fputs("'))", script);
}

void bp_duckdb_split(char *line, const char *separator, struct bp_duckdb_row *ret_row)
{
	ret_row->count = 0;
	while (line != NULL && ret_row->count < BP_DUCKDB_FIELDS_MAX)
		ret_row->fields[ret_row->count++] = strsep(&line, separator);
}

static bool take_all(FILE *answer,
	bool (*take)(void *context, struct bp_duckdb_row *row, struct bp_error *error),
	void *context, struct bp_error *error)
{
	struct bp_duckdb_row row;
	char *line = NULL;
	size_t capacity = 0;
	ssize_t bytes;
	bool good = true;
	while (good && (bytes = getline(&line, &capacity, answer)) > 0) {
		while (bytes > 0 && (line[bytes - 1] == '\n' || line[bytes - 1] == '\r'))
			line[--bytes] = '\0';
		bp_duckdb_split(line, ",", &row);
		good = bytes == 0 || take(context, &row, error);
	}
	free(line);
	return good;
}

/* The first line of what duckdb complained about, without what could steer a terminal. */
static bool complain(int complaints, struct bp_error *error)
{
	char text[COMPLAINT_BYTES + 1];
	const ssize_t bytes = pread(complaints, text, COMPLAINT_BYTES, 0);
	text[bytes > 0 ? bytes : 0] = '\0';
	for (char *at = text; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
	/* Behind it comes the script that it was, which is ours. */
	char *end = strstr(text, "LINE ");
	end = end != NULL ? end : text + strlen(text);
	while (end > text && end[-1] == ' ')
		end--;
	*end = '\0';
	return bp_error_set(error, "duckdb failed: %s%s", *text != '\0' ? text : "it says nothing",
		strstr(text, ".parquet") != NULL
			? " (a folder of the store has no whole tables of bytepoll: move it away)"
			: "");
}

static int start(FILE *script, int answer, int complaints, pid_t *ret_pid)
{
	char *const words[] = { "duckdb", "-init", "/dev/null", "-batch", "-bail", "-csv",
		"-noheader", "-nullvalue", "", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, answer, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
	const int failure = posix_spawnp(ret_pid, words[0], &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return failure;
}

static bool cannot_start(int failure, struct bp_error *error)
{
	return failure == ENOENT
		       ? bp_error_set(error,
				 "duckdb is not on PATH: `pip install duckdb-cli` installs it, or "
				 "see https://duckdb.org")
		       : bp_error_set(error, "duckdb cannot be started: %s", strerror(failure));
}

static bool ask(FILE *script, const int pipes[2], int complaints,
	bool (*take)(void *context, struct bp_duckdb_row *row, struct bp_error *error),
	void *context, struct bp_error *error)
{
	pid_t pid;
	int status;
	const int failure = start(script, pipes[1], complaints, &pid);
	close(pipes[1]);
	FILE *answer = failure != 0 ? NULL : fdopen(pipes[0], "r");
	if (answer == NULL) {
		close(pipes[0]);
		return cannot_start(failure, error);
	}
	const bool good = take_all(answer, take, context, error);
	fclose(answer);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return good && (status == 0 || complain(complaints, error));
}

bool bp_duckdb_run(FILE *script,
	bool (*take)(void *context, struct bp_duckdb_row *row, struct bp_error *error),
	void *context, struct bp_error *error)
{
	int pipes[2];
	const int complaints = memfd_create("complaints", MFD_CLOEXEC);
	const bool written = fflush(script) == 0 && lseek(fileno(script), 0, SEEK_SET) == 0;
	bool good = complaints >= 0 && written && pipe2(pipes, O_CLOEXEC) == 0;
	if (!good)
		bp_error_set(error, "a script for duckdb: %s", strerror(errno));
	good = good && ask(script, pipes, complaints, take, context, error);
	if (complaints >= 0)
		close(complaints);
	fclose(script);
	return good;
}
