/* SPDX-License-Identifier: MIT */
/*
 * A check: fails a build whose program holds more than it may. The verdict is wrong at most once in
 * a hundred times, and says so where the samples cannot tell.
 *
 * 	cc check.c $(pkg-config --cflags --libs bytepoll) -o check
 * 	./check app.bpt peak 200000000                       200 MB at the peak
 * 	./check app.bpt allocated 1e6 'stack=parse_*'        1 MB under any function parse_...
 *
 * Exit status: 0 within, 1 exceeded, 2 an error, 3 undecided.
 */
#include <bytepoll/analysis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check(struct bytepoll_profile *profile, const struct bytepoll_limit *limit)
{
	struct bytepoll_error error;
	struct bytepoll_check_result result;
	BYTEPOLL_CLEAR(result);
	if (!bytepoll_check(profile, NULL, limit, &result, &error)) {
		fprintf(stderr, "check: %s\n", error.text);
		return 2;
	}
	printf("%s: %s is between %.0f and %.0f bytes, allowed are %.0f", result.outcome,
		limit->metric, result.figure.low, result.figure.high, limit->most);
	if (result.reason != NULL)
		printf(" (%s)", result.reason);
	if (result.interval_needed > 0)
		printf("; record with --interval %llu to decide",
			(unsigned long long)result.interval_needed);
	putchar('\n');
	if (strcmp(result.outcome, "within") == 0)
		return 0;
	return strcmp(result.outcome, "exceeded") == 0 ? 1 : 3;
}

int main(int count, char **words)
{
	struct bytepoll_error error;
	struct bytepoll_limit limit;
	char *rest;
	if (count < 4 || count > 5) {
		fprintf(stderr, "usage: check FILE METRIC BYTES [FILTER]\n");
		return 2;
	}
	BYTEPOLL_CLEAR(limit);
	limit.metric = words[2];
	limit.most = strtod(words[3], &rest);
	limit.filter = words[4]; /* NULL behind the last word */
	if (*rest != '\0' || rest == words[3]) {
		fprintf(stderr, "check: BYTES must be a number, as 1e6\n");
		return 2;
	}
	const char *file = words[1];
	struct bytepoll_profile *profile = bytepoll_open(&file, 1, NULL, &error);
	if (profile == NULL) {
		fprintf(stderr, "check: %s\n", error.text);
		return 2;
	}
	const int status = check(profile, &limit);
	bytepoll_close(profile);
	return status;
}
