/* SPDX-License-Identifier: MIT */
/*
 * A program that test_sanitizers.py builds with one sanitizer after another: it allocates in every
 * way that the recorder has a hook before, in threads, in a forked child and in images of its own,
 * and prints what it did.
 *
 *     sanitized [again]      exit status 7
 */
#include <dlfcn.h>
#include <malloc.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

extern char **environ;

static size_t allocate(int rounds)
{
	struct alignas(64) Wide {
		char bytes[128];
	};
	/* Not strings: part of their code is in the C++ library, which MemorySanitizer does not see
	 * write. */
	std::vector<std::unique_ptr<std::vector<char>>> texts;
	size_t sum = 0;
	for (int i = 0; i < rounds; i++) {
		texts.push_back(std::make_unique<std::vector<char>>(i % 700, 'x'));
		char *object = static_cast<char *>(calloc(3, i + 1));
		object = static_cast<char *>(realloc(object, 5 * i + 9));
		sum += strlen(object);
		free(object);
		void *aligned = NULL;
		if (posix_memalign(&aligned, 64, i + 1) == 0)
			free(aligned);
		delete new Wide;
		delete[] new int[i + 1];
	}
	for (const auto &text : texts)
		sum += text->size();
	return sum;
}

static int status_of(pid_t pid)
{
	int status = -1;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
	printf("%zu\n", allocate(2000));
	fflush(stdout);
	if (argc > 1)
		return 7;
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back([] { allocate(1500); });
	for (auto &thread : threads)
		thread.join();
	pid_t child = fork();
	if (child == 0)
		_exit(allocate(300) > 0 ? 5 : 6);
	printf("fork %d\n", status_of(child));
	char *const words[] = { argv[0], const_cast<char *>("again"), NULL };
	fflush(stdout);
	if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ) == 0)
		printf("spawn %d\n", status_of(child));
	fflush(stdout);
	printf("system %d\n", system("exit 3") >> 8);
	struct rlimit limit;
	const int dumpable = prctl(PR_SET_DUMPABLE, 1), got = getrlimit(RLIMIT_CORE, &limit);
	printf("calls %d %d %d\n", dumpable, got, setrlimit(RLIMIT_CORE, &limit));
	auto take = reinterpret_cast<void *(*)(size_t)>(dlsym(RTLD_DEFAULT, "malloc"));
	void *object = take(1000);
	printf("usable %d\n", malloc_usable_size(object) >= 1000);
	free(object);
	fflush(stdout);
	execv("/proc/self/exe", words);
	return 1;
}
