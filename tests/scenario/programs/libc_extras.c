/* SPDX-License-Identifier: MIT */
/*
 * glibc's other entry points around malloc, with sampled objects about: mallopt, malloc_trim,
 * mallinfo2, malloc_info, fork-safe stdio, getline, asprintf, strdup, qsort with its hidden malloc,
 * getaddrinfo-free parts of libc that allocate inside libc and are freed by the program.
 */
#include <dirent.h>
#include <glob.h>
#include <locale.h>
#include <malloc.h>
#include <regex.h>
#include <string.h>
#include <wchar.h>

#include "check.h"

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

static void hidden_allocations(void)
{
	char *text = NULL;
	CHECK(asprintf(&text, "%d and %s", 42, "text") > 0);
	char *copy = strdup(text), *part = strndup(text, 3);
	wchar_t *wide = wcsdup(L"wide");
	CHECK(copy && part && wide && strcmp(copy, text) == 0);
	free(text);
	free(copy);
	free(part);
	free(wide);
	char *line = NULL;
	size_t capacity = 0;
	FILE *file = fopen("/proc/self/maps", "r");
	CHECK(file != NULL);
	while (getline(&line, &capacity, file) > 0)
		CHECK(line[0] != '\0');
	free(line);
	fclose(file);
	char *buffer = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&buffer, &bytes);
	for (int i = 0; i < 1000; i++)
		fprintf(memory, "%d ", i);
	fclose(memory);
	CHECK(bytes == strlen(buffer));
	free(buffer);
	char *path = realpath("/usr/../usr/bin", NULL);
	CHECK(path && strcmp(path, "/usr/bin") == 0);
	free(path);
}

static void larger_parts(void)
{
	regex_t regex;
	CHECK(regcomp(&regex, "^(a|b)*c{2,40}[[:alpha:]]+$", REG_EXTENDED) == 0);
	CHECK(regexec(&regex, "ababccx", 0, NULL, 0) == 0);
	regfree(&regex);
	glob_t found;
	CHECK(glob("/usr/*", 0, NULL, &found) == 0 && found.gl_pathc > 0);
	globfree(&found);
	DIR *directory = opendir("/");
	CHECK(directory && readdir(directory));
	closedir(directory);
	char *records = malloc(16 * 2000);
	uint64_t seed = 5;
	for (int i = 0; i < 16 * 2000; i++)
		records[i] = (char)next_random(&seed);
	qsort(records, 2000, 16, compare);
	for (int i = 1; i < 2000; i++)
		CHECK(compare(records + 16 * (i - 1), records + 16 * i) <= 0);
	free(records);
	CHECK(setlocale(LC_ALL, "C") != NULL);
	CHECK(setenv("BP_SCENARIO_VARIABLE", "value", 1) == 0);
}

int main(void)
{
	for (int i = 0; i < 40; i++) {
		hidden_allocations();
		larger_parts();
		malloc_trim(0);
		struct mallinfo2 info = mallinfo2();
		CHECK(info.arena < (size_t)1 << 40);
	}
	FILE *nowhere = fopen("/dev/null", "w");
	CHECK(nowhere && malloc_info(0, nowhere) == 0);
	fclose(nowhere);
	CHECK(mallopt(M_MMAP_THRESHOLD, 4096) == 1 && mallopt(M_PERTURB, 0x55) == 1);
	for (size_t i = 0; i < 500; i++) {
		char *p = malloc(i * 50), *q = calloc(1, i * 50 + 1);
		CHECK(p && q && q[i * 50] == 0);
		free(p);
		free(q);
	}
	puts("done");
	return 0;
}
