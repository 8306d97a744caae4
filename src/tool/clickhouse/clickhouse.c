/* SPDX-License-Identifier: MIT */
/*
 * See clickhouse.h. The server is told to finish a statement before it answers (wait_end_of_query),
 * so that a failure has a status of its own. An older or differently configured server, or what
 * stands before it, may still break off within an answer of status 200. Then the server writes an
 * exception where rows were, which no line of ours looks like, and it is found in the answer.
 */
#include "clickhouse/clickhouse.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/system_call.h"
#include "clickhouse/transfer.h"

#define ADDRESS_BYTES 320u
#define NAME_BYTES 65u
#define SESSION_BYTES 33u
#define URL_BYTES 32768u /* a statement names every column of a table */
#define COMPLAINT_BYTES 400

/* The server's numbers of errors (src/Common/ErrorCodes.cpp there). */
#define UNKNOWN_TABLE 60
#define UNKNOWN_DATABASE 81
#define NO_SUCH_COLUMN 16

/* The settings that answers depend on: missing values are missing, also where nothing is summed up
 * or joined; an answer is of lines of tabs, and comes when all is done; what was inserted is
 * there. */
static const char settings[] =
	"&wait_end_of_query=1&default_format=TabSeparated&format_tsv_null_representation="
	"&aggregate_functions_null_for_empty=1&join_use_nulls=1&async_insert=0&session_timeout=60";

struct bp_clickhouse {
	struct bp_transfer transfer;
	const volatile sig_atomic_t *stopped;
	char base[ADDRESS_BYTES]; /* http://HOST:PORT/ */
	char name[NAME_BYTES];
	char session[SESSION_BYTES];
	bool may_pass;
};

static const struct {
	const char *prefix, *scheme;
	unsigned port;
} schemes[] = { { "clickhouse://", "http", 8123 }, { "clickhouses://", "https", 8443 } };

static int scheme_of(const char *text)
{
	for (size_t i = 0; i < BP_COUNT(schemes); i++)
		if (strncmp(text, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
			return (int)i;
	return -1;
}

bool bp_clickhouse_is_address(const char *text)
{
	return scheme_of(text) >= 0;
}

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool read_address(struct bp_clickhouse *client, const char *text, struct bp_error *error)
{
	const int scheme = scheme_of(text);
	const char *host = scheme < 0 ? "" : text + strlen(schemes[scheme].prefix);
	const char *bracket = strchr(host, ']');
	const size_t host_bytes =
		*host != '[' ? strspn(host, ".-" DIGITS LETTERS)
		: bracket != NULL &&
				host + 1 + strspn(host + 1, ":." DIGITS "abcdefABCDEF") == bracket
			? (size_t)(bracket + 1 - host)
			: 0;
	unsigned long port = scheme < 0 ? 0 : schemes[scheme].port;
	if (strchr(host, '@') != NULL)
		return bp_error_set(error,
			"a user and a password do not belong into an address: set CLICKHOUSE_USER "
			"and CLICKHOUSE_PASSWORD");
	const char *end = host + host_bytes;
	if (*end == ':' && end[1] >= '0' && end[1] <= '9') {
		char *rest;
		port = strtoul(end + 1, &rest, 10);
		end = rest;
	}
	const char *name = *end == '/' ? end + 1 : "";
	const size_t name_bytes = strspn(name, "_" DIGITS LETTERS);
	if (host_bytes == 0 || host_bytes > 253 || port == 0 || port > 65535 || name_bytes == 0 ||
		name_bytes >= NAME_BYTES || name[name_bytes] != '\0')
		return bp_error_set(error,
			"%.200s: write clickhouse://HOST:PORT/DATABASE, the database in letters, "
			"digits and _",
			text);
	snprintf(client->base, sizeof client->base, "%s://%.*s:%lu/", schemes[scheme].scheme,
		(int)host_bytes, host, port);
	snprintf(client->name, sizeof client->name, "%s", name);
	return true;
}

void bp_clickhouse_begin_session(struct bp_clickhouse *client)
{
	unsigned char bytes[16];
	bp_system_random(bytes, sizeof bytes);
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(client->session + 2 * i, 3, "%02x", bytes[i]);
}

bool bp_clickhouse_open(const char *text, const volatile sig_atomic_t *stopped,
	struct bp_clickhouse **ret_client, struct bp_error *error)
{
	struct bp_clickhouse *client = calloc(1, sizeof *client);
	if (client == NULL)
		return bp_error_set(error, "out of memory");
	client->stopped = stopped;
	bp_clickhouse_begin_session(client);
	if (!read_address(client, text, error) ||
		!bp_transfer_open(&client->transfer, getenv("CLICKHOUSE_USER"),
			getenv("CLICKHOUSE_PASSWORD"), error)) {
		bp_clickhouse_close(client);
		return false;
	}
	*ret_client = client;
	return true;
}

void bp_clickhouse_close(struct bp_clickhouse *client)
{
	if (client == NULL)
		return;
	bp_transfer_close(&client->transfer);
	free(client);
}

bool bp_clickhouse_may_pass(const struct bp_clickhouse *client)
{
	return client->may_pass;
}

/* A line that the server writes where it breaks off. */
static bool is_exception(const char *line)
{
	return strncmp(line, "__exception__", 13) == 0 ||
	       (strncmp(line, "Code: ", 6) == 0 && strstr(line, "Exception") != NULL);
}

static const char *advice(long code)
{
	if (code == UNKNOWN_TABLE || code == UNKNOWN_DATABASE || code == NO_SUCH_COLUMN)
		return " (share/bytepoll/sql/clickhouse.sql makes the tables)";
	return "";
}

/* What the server says, in one line. */
static bool complain(struct bp_clickhouse *client, const char *text,
	const struct bp_transfer_answer *answer, struct bp_error *error)
{
	char line[COMPLAINT_BYTES + 1];
	snprintf(line, sizeof line, "%s", text);
	line[strcspn(line, "\r\n")] = '\0';
	return bp_error_set(error, "%s%s: %s%s", client->base, client->name,
		line[0] != '\0' ? line : "the server failed and says nothing",
		advice(answer->exception_code != 0
				? answer->exception_code
				: strtol(strncmp(line, "Code: ", 6) == 0 ? line + 6 : "", NULL,
					  10)));
}

struct lines {
	bool (*take)(void *context, char *line, struct bp_error *error);
	void *context;
};

/* Gives every line of a whole answer away. */
static bool take_lines(struct bp_clickhouse *client, FILE *sink, const struct lines *lines,
	const struct bp_transfer_answer *answer, struct bp_error *error)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t bytes;
	bool good = true;
	rewind(sink);
	while (good && (bytes = getline(&line, &capacity, sink)) > 0) {
		while (bytes > 0 && (line[bytes - 1] == '\n' || line[bytes - 1] == '\r'))
			line[--bytes] = '\0';
		if (is_exception(line) || answer->exception) {
			client->may_pass = true;
			good = complain(client,
				strncmp(line, "Code: ", 6) == 0 ? line
								: "it broke off while it answered",
				answer, error);
		} else {
			good = bytes == 0 || lines->take == NULL ||
			       lines->take(lines->context, line, error);
		}
	}
	free(line);
	return good && (!answer->exception || complain(client, "", answer, error));
}

static bool judge(struct bp_clickhouse *client, FILE *sink, const struct lines *lines,
	const struct bp_transfer_answer *answer, struct bp_error *error)
{
	char text[COMPLAINT_BYTES + 1];
	client->may_pass = answer->may_pass;
	if (answer->status == 0)
		return bp_error_set(error, "%s%s: %s", client->base, client->name, answer->problem);
	if (answer->status == 200)
		return take_lines(client, sink, lines, answer, error);
	rewind(sink);
	const size_t bytes = fread(text, 1, COMPLAINT_BYTES, sink);
	text[bytes] = '\0';
	if (bytes == 0)
		snprintf(text, sizeof text, "HTTP status %ld", answer->status);
	return complain(client, text, answer, error);
}

/* Of a statement in a URL every byte that may stand for something else there is written as %XX. */
static bool write_url(const struct bp_clickhouse *client, const char *sql, bool in_session,
	char ret_url[URL_BYTES], struct bp_error *error)
{
	size_t at = (size_t)snprintf(ret_url, URL_BYTES, "%s?database=%s%s%s%s%s", client->base,
		client->name, in_session ? "&session_id=" : "", in_session ? client->session : "",
		settings, sql != NULL ? "&query=" : "");
	for (; sql != NULL && *sql != '\0' && at + 4 < URL_BYTES; sql++)
		at += (size_t)snprintf(ret_url + at, URL_BYTES - at,
			strchr("_-.,()*" DIGITS LETTERS, *sql) != NULL ? "%c" : "%%%02X",
			(unsigned char)*sql);
	return sql == NULL || *sql == '\0' || bp_error_set(error, "a statement is too long");
}

static bool post(struct bp_clickhouse *client, const char *url, FILE *body, uint64_t bytes,
	const struct lines *lines, struct bp_error *error)
{
	struct bp_transfer_answer answer;
	FILE *sink = tmpfile();
	if (sink == NULL)
		return bp_error_set(
			error, "no room for an answer in the folder of temporary files");
	bp_transfer_post(&client->transfer, url, body, bytes, sink, client->stopped, &answer);
	const bool good = judge(client, sink, lines, &answer, error);
	fclose(sink);
	return good;
}

bool bp_clickhouse_ask(struct bp_clickhouse *client, const char *sql, size_t bytes,
	bool (*take)(void *context, char *line, struct bp_error *error), void *context,
	struct bp_error *error)
{
	const struct lines lines = { take, context };
	char url[URL_BYTES];
	client->may_pass = false;
	if (!write_url(client, NULL, true, url, error))
		return false;
	FILE *body = fmemopen((void *)(uintptr_t)sql, bytes, "r");
	if (body == NULL)
		return bp_error_set(error, "out of memory");
	const bool good = post(client, url, body, bytes, &lines, error);
	fclose(body);
	return good;
}

bool bp_clickhouse_insert(struct bp_clickhouse *client, const char *sql, FILE *body, uint64_t bytes,
	struct bp_error *error)
{
	const struct lines lines = { NULL, NULL };
	char url[URL_BYTES];
	client->may_pass = false;
	return write_url(client, sql, false, url, error) &&
	       post(client, url, body, bytes, &lines, error);
}
