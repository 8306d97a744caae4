/* SPDX-License-Identifier: MIT */
/*
 * Programs that live under limits, one per argument; each must come out as it does unprofiled:
 *   work      allocates and frees some megabytes, for runs under limits set from outside;
 *   fill      allocates 40 MiB in all, more than RLIMIT_AS minus what the test leaves it;
 *   as        sets RLIMIT_AS in mid-run to 48 MiB above what it uses, then uses 40 MiB of it;
 *   absolute  sets RLIMIT_AS to 96 MiB, as a program does that knows it is small, and uses 48 MiB;
 *   refused   sets RLIMIT_AS to what it uses and sees malloc fail properly and then succeed again;
 *   fsize     sets RLIMIT_FSIZE to 64 KiB, writes up to it, gets EFBIG beyond with SIGXFSZ ignored;
 *   lock      mlockall of everything now and later, then works;
 *   locked    the same, and prints how much memory is locked, in KiB;
 *   descriptors  RLIMIT_NOFILE of 0: nothing can be opened any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "check.h"

static void work(int count)
{
	uint64_t seed = 4;
	static char *kept[4096];
	for (int i = 0; i < count; i++) {
		size_t size = random_between(&seed, 0, 1000);
		int slot = i % 4096;
		free(kept[slot]);
		kept[slot] = malloc(size);
		CHECK(kept[slot] != NULL);
		memset(kept[slot], 1, size);
	}
}

static void use(size_t megabytes)
{
	static char *blocks[256];
	for (size_t i = 0; i < megabytes; i++) {
		blocks[i] = malloc(1 << 20);
		CHECK(blocks[i] != NULL);
		memset(blocks[i], 1, 1 << 20);
	}
	for (size_t i = 0; i < megabytes; i++)
		free(blocks[i]);
}

static size_t address_space_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	CHECK(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	return pages * 4096;
}

static void limit(int resource, size_t bytes)
{
	struct rlimit now;
	CHECK(getrlimit((__rlimit_resource_t)resource, &now) == 0);
	now.rlim_cur = bytes;
	CHECK(setrlimit((__rlimit_resource_t)resource, &now) == 0);
}

static void refused(void)
{
	limit(RLIMIT_AS, address_space_bytes() + (2 << 20));
	errno = 0;
	CHECK(malloc(1 << 30) == NULL && errno == ENOMEM);
	char *p = malloc(100);
	CHECK(p != NULL);
	CHECK(realloc(p, 1 << 30) == NULL);
	for (int i = 0; i < 3000; i++)
		free(malloc(100));
	free(p);
	limit(RLIMIT_AS, RLIM_INFINITY);
	use(8);
}

static void file_limit(void)
{
	char path[] = "/tmp/bytepoll-scenario-XXXXXX";
	int descriptor = mkstemp(path);
	static char block[4096];
	CHECK(descriptor >= 0 && unlink(path) == 0);
	signal(SIGXFSZ, SIG_IGN);
	limit(RLIMIT_FSIZE, 65536);
	for (int i = 0; i < 16; i++) {
		CHECK(write(descriptor, block, sizeof(block)) == sizeof(block));
		work(2000);
	}
	errno = 0;
	CHECK(write(descriptor, block, sizeof(block)) == -1 && errno == EFBIG);
	work(100000);
	close(descriptor);
}

static int print_locked(void)
{
	char line[256];
	unsigned long kibibytes = 0;
	FILE *file = fopen("/proc/self/status", "r");
	CHECK(file != NULL);
	while (fgets(line, sizeof(line), file) && sscanf(line, "VmLck: %lu", &kibibytes) != 1)
		;
	fclose(file);
	printf("%lu\n", kibibytes);
	return 0;
}

int main(int argument_count, char **arguments)
{
	CHECK(argument_count == 2);
	const char *what = arguments[1];
	work(20000);
	if (!strcmp(what, "fill"))
		use(40);
	if (!strcmp(what, "as")) {
		limit(RLIMIT_AS, address_space_bytes() + (48 << 20));
		use(40);
	}
	if (!strcmp(what, "absolute")) {
		limit(RLIMIT_AS, 96 << 20);
		use(48);
	}
	if (!strcmp(what, "refused"))
		refused();
	if (!strcmp(what, "fsize"))
		file_limit();
	if (!strcmp(what, "lock") || !strcmp(what, "locked"))
		CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
	if (!strcmp(what, "descriptors"))
		limit(RLIMIT_NOFILE, 0);
	work(100000);
	if (!strcmp(what, "locked"))
		return print_locked();
	if (write(1, "done\n", 5) != 5)
		return 1;
	return 0;
}
