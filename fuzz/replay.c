/* SPDX-License-Identifier: MIT */
/*
 * The regression driver of a fuzz harness: runs it once over every file named, or over every file in
 * a folder named. An ordinary program for any compiler, so that what a fuzzer once found stays found
 * where there is no fuzzer. A harness that is broken crashes; one that was given nothing fails.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define INPUT_MAX_BYTES (1u << 20)

static unsigned inputs;

static int run_file(const char *path)
{
	static uint8_t data[INPUT_MAX_BYTES];
	FILE *file = fopen(path, "rbe");
	size_t bytes;
	uint8_t *exact;
	if (file == NULL) {
		perror(path);
		return 1;
	}
	bytes = fread(data, 1, sizeof data, file);
	fclose(file);
	/* In a block of its own size, so that a sanitizer sees a read beyond it. */
	exact = malloc(bytes == 0 ? 1 : bytes);
	if (exact == NULL)
		return 1;
	for (size_t i = 0; i < bytes; i++)
		exact[i] = data[i];
	LLVMFuzzerTestOneInput(exact, bytes);
	free(exact);
	inputs++;
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
