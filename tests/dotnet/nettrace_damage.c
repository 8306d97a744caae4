/* SPDX-License-Identifier: MIT */
/*
 * Damages a .nettrace file in every place and imports what comes of it:
 *
 *	nettrace_damage cuts FILE       every beginning of the file, the empty one included
 *	nettrace_damage lengths FILE    every four bytes replaced by the largest lengths there are
 *
 * Prints one line for each: place, 1 if it could be imported, samples, 1 if the file is said to be
 * cut off, then the message where it could not. A wrong access is for the sanitizers to find.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attributes.h"
#include "import/import.h"

#define FILE_BYTES_MAX (1u << 20)

static void import(const uint8_t *data, size_t bytes, size_t place)
{
	struct bp_profile profile;
	struct bp_error error = { .text = "" };
	char path[64];
	const int fd = memfd_create("nettrace", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes ||
		!bp_profile_init(&profile, &error))
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	const bool imported = bp_import_file(path, &profile, &error) &&
			      bp_profile_finish_import(&profile, false, &error);
	const bool known = profile.processes.count > 1;
	printf("%zu\t%d\t%u\t%d\t%s\n", place, imported, profile.samples.count - 1,
		known && profile.processes.data[1].cut_off, imported ? "" : error.text);
	bp_profile_finish(&profile);
	close(fd);
}

int main(int argument_count, char **arguments)
{
	static uint8_t data[FILE_BYTES_MAX];
	static const uint32_t lengths[] = { 0xFFFFFFFF, 0x7FFFFFFF, 0x03FFFFFF };
	FILE *file = argument_count == 3 ? fopen(arguments[2], "rbe") : NULL;
	if (file == NULL)
		return 2;
	const size_t bytes = fread(data, 1, sizeof data, file);
	fclose(file);
	if (strcmp(arguments[1], "cuts") == 0) {
		for (size_t length = 0; length <= bytes; length++)
			import(data, length, length);
		return 0;
	}
	for (size_t place = 0; place + sizeof lengths[0] <= bytes; place++)
		for (size_t i = 0; i < BP_COUNT(lengths); i++) {
			uint32_t before;
			memcpy(&before, data + place, sizeof before);
			memcpy(data + place, &lengths[i], sizeof lengths[i]);
			import(data, bytes, place);
			memcpy(data + place, &before, sizeof before);
		}
	return 0;
}
