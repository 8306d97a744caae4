/* SPDX-License-Identifier: MIT */
/*
 * The regression driver of a fuzz harness: runs it over every file named, or over every file in a
 * folder named, and then over MUTATIONS changed copies of each. An ordinary program for any
 * compiler, so that what a fuzzer once found stays found where there is no fuzzer. The changes come
 * from a fixed seed: the same on every machine, every time. A broken parser crashes; no input at
 * all fails.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define INPUT_MAX_BYTES (1u << 20)
#define MUTATIONS 30u

static unsigned inputs;

/* xorshift64 (Marsaglia, 2003). */
static uint64_t draw(uint64_t below)
{
	static uint64_t state = 88172645463325252u;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

/* Changes some bytes: to anything, to an end of the range, by one. */
static void change(uint8_t *data, size_t bytes)
{
	for (uint64_t i = 1 + draw(6); i > 0; i--) {
		uint8_t *at = &data[draw(bytes)];
		switch (draw(4)) {
		case 0:
			*at = (uint8_t)draw(256);
			break;
		case 1:
			*at = 0xff;
			break;
		case 2:
			*at = 0;
			break;
		default:
			*at = (uint8_t)(*at + 1);
		}
	}
}

/* In a block of its own size, so that a sanitizer sees a read beyond it. */
static int run_input(const uint8_t *data, size_t bytes, unsigned mutation)
{
	uint8_t *copy = malloc(bytes == 0 ? 1 : bytes);
	if (copy == NULL)
		return 1;
	if (bytes > 0)
		memcpy(copy, data, bytes);
	if (bytes > 0 && mutation > 0)
		change(copy, bytes);
	LLVMFuzzerTestOneInput(copy, bytes);
	free(copy);
	inputs++;
	return 0;
}

static int run_file(const char *path)
{
	static uint8_t data[INPUT_MAX_BYTES];
	FILE *file = fopen(path, "rbe");
	size_t bytes;
	if (file == NULL) {
		perror(path);
		return 1;
	}
	bytes = fread(data, 1, sizeof data, file);
	fclose(file);
	for (unsigned i = 0; i <= MUTATIONS; i++)
		if (run_input(data, bytes, i) != 0)
			return 1;
	return 0;
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int run_folder(const char *path)
{
	struct dirent **entries;
	int failed = 0, count = scandir(path, &entries, is_input, alphasort);
	if (count < 0) {
		perror(path);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		char name[4096];
		snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
		failed |= run_file(name);
		free(entries[i]);
	}
	free(entries);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;
	for (int i = 1; i < argc; i++) {
		struct stat status;
		if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode))
			failed |= run_folder(argv[i]);
		else
			failed |= run_file(argv[i]);
	}
	printf("%u inputs\n", inputs);
	return failed != 0 || inputs == 0;
}
