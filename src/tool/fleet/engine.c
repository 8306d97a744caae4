/* SPDX-License-Identifier: MIT */
/*
 * See engine.h. DuckDB reads a script; the server takes one statement in each request, all of them
 * in one session. A statement that failed is not asked again, since the temporary tables of those
 * before it may have gone with the server: whoever asked may ask the whole question again.
 */
#include "fleet/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static void write_digits(const char *text, FILE *script)
{
	for (; *text != '\0'; text++)
		fprintf(script, "%02X", (unsigned char)*text);
}

void bp_engine_write_text(const struct bp_store *store, const char *text, FILE *script)
{
	if (store->server == NULL) {
		bp_duckdb_write_text(script, text);
		return;
	}
	fputs("unhex('", script);
	write_digits(text, script);
	fputs("')", script);
}

void bp_engine_write_has_line(
	const struct bp_store *store, const char *column, const char *text, FILE *script)
{
	fprintf(script,
		store->server == NULL ? "list_contains(string_split(%s, chr(10)), "
				      : "has(splitByChar(char(10), %s), ",
		column);
	bp_engine_write_text(store, text, script);
	fputs(")", script);
}

struct answer {
	bool (*take)(void *context, struct bp_duckdb_row *row, struct bp_error *error);
	void *context;
};

static bool take_line(void *context, char *line, struct bp_error *error)
{
	const struct answer *answer = context;
	struct bp_duckdb_row row;
	bp_duckdb_split(line, "\t", &row);
	return answer->take(answer->context, &row, error);
}

/* The lines of a statement, one behind the other. */
struct statement {
	char *text;
	size_t bytes;
	FILE *out;
};

static bool ask(
	const struct bp_store *store, FILE *script, struct answer *answer, struct bp_error *error)
{
	struct statement statement = { .text = NULL };
	char *line = NULL;
	size_t capacity = 0;
	ssize_t bytes;
	bool good = true;
	while (good && (bytes = getline(&line, &capacity, script)) > 0) {
		if (statement.out == NULL && (statement.out = open_memstream(
						      &statement.text, &statement.bytes)) == NULL) {
			good = bp_error_set(error, "out of memory");
			break;
		}
		const bool last = bytes >= 2 && strcmp(line + bytes - 2, ";\n") == 0;
		fwrite(line, 1, (size_t)bytes - (last ? 2 : 0), statement.out);
		if (!last)
			continue;
		good = fclose(statement.out) == 0 || bp_error_set(error, "out of memory");
		good = good && bp_clickhouse_ask(store->server, statement.text, statement.bytes,
				       take_line, answer, error);
		free(statement.text);
		statement = (struct statement){ .text = NULL };
	}
	if (statement.out != NULL) {
		fclose(statement.out);
		free(statement.text);
	}
	free(line);
	return good;
}

bool bp_engine_run(const struct bp_store *store, FILE *script,
	bool (*take)(void *context, struct bp_duckdb_row *row, struct bp_error *error),
	void *context, struct bp_error *error)
{
	struct answer answer = { take, context };
	if (store->server == NULL)
		return bp_duckdb_run(script, take, context, error);
	const int descriptor = fcntl(fileno(script), F_DUPFD_CLOEXEC, 0);
	const bool written = fflush(script) == 0 && descriptor >= 0;
	fclose(script);
	FILE *reader = written ? fdopen(descriptor, "r") : NULL;
	if (reader == NULL)
		return bp_error_set(error, "a script for the server: %s", strerror(errno));
	rewind(reader);
	bp_clickhouse_begin_session(store->server);
	const bool good = ask(store, reader, &answer, error);
	fclose(reader);
	return good;
}
