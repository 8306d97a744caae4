/* SPDX-License-Identifier: MIT */
/*
 * A program that works until SIGTERM, and is attached to meanwhile: it checks everything that it
 * reads, and says at its end that all was well.
 *
 *   attached threads COUNT | throw COUNT | dlopen PLUGIN | fork COUNT | wait COUNT
 *
 * threads: exchange objects, which each checks. throw: the same, with an exception now and then.
 * dlopen: a library is opened, used and closed. fork: children allocate and end. wait: the threads
 * stand in system calls most of the time, and notice if one fails.
 * Line by line it prints how many rounds it has made; the last line is `well`.
 */
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

static std::atomic<bool> over;
static std::atomic<uint64_t> rounds;
static std::atomic<char *> places[1024];

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(9);
}

static uint64_t next_random(uint64_t &state)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void put_and_take(uint64_t &random)
{
	const size_t size = 16 + next_random(random) % 3000;
	char *object = random % 2 ? static_cast<char *>(malloc(size)) : new char[size];
	if (random % 2)
		object = static_cast<char *>(realloc(object, size));
	/* The kind is in the first byte, so that it is freed as it was made. */
	memset(object, static_cast<int>(random % 2), size);
	memcpy(object + 8, &size, sizeof size);
	char *found = places[next_random(random) % 1024].exchange(object);
	if (found == nullptr)
		return;
	size_t found_size;
	memcpy(&found_size, found + 8, sizeof found_size);
	if (found_size > 4096 || found[found_size - 1 < 16 ? 7 : found_size - 1] != found[0])
		fail("an object is not as it was");
	if (found[0])
		free(found);
	else
		delete[] found;
}

__attribute__((noinline)) static void throw_one(uint64_t random)
{
	throw std::runtime_error(std::string(random % 200, 'x'));
}

static bool throws, waits;

static void *work(void *argument)
{
	uint64_t random = reinterpret_cast<uintptr_t>(argument) * 7919 + 88172645463325252u;
	while (!over) {
		put_and_take(random);
		rounds++;
		if (throws) {
			try {
				throw_one(random);
			} catch (const std::exception &error) {
				if (strlen(error.what()) != random % 200)
					fail("another exception");
			}
		}
	}
	return nullptr;
}

/* Each kind of wait, whose end is known. */
static void *wait_long(void *argument)
{
	const int kind = static_cast<int>(reinterpret_cast<uintptr_t>(argument) % 3);
	int ends[2], group = epoll_create1(0);
	if (pipe(ends) != 0 || group < 0)
		fail("pipe");
	epoll_event event = {};
	event.events = EPOLLIN;
	epoll_ctl(group, EPOLL_CTL_ADD, ends[0], &event);
	while (!over) {
		const int found = kind == 0   ? epoll_wait(group, &event, 1, 5)
				  : kind == 1 ? poll(nullptr, 0, 5)
					      : usleep(5000);
		if (found != 0)
			fail("a wait");
		uint64_t random = 1 + rounds++;
		put_and_take(random);
	}
	return nullptr;
}

static void open_and_close(const char *plugin)
{
	while (!over) {
		void *handle = dlopen(plugin, RTLD_NOW);
		if (handle == nullptr)
			fail(dlerror());
		void *function = dlsym(handle, "plugin_allocate");
		if (function == nullptr || dlclose(handle) != 0)
			fail("plugin");
		rounds++;
	}
}

static void make_children()
{
	while (!over) {
		const pid_t child = fork();
		if (child < 0)
			fail("fork");
		if (child == 0) {
			uint64_t random = 99;
			for (int i = 0; i < 200; i++)
				put_and_take(random);
			_exit(7);
		}
		int status;
		while (waitpid(child, &status, 0) < 0)
			if (errno != EINTR)
				fail("waitpid");
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
			fail("a child");
		rounds++;
	}
}

static void end(int)
{
	over = true;
}

static void *say(void *)
{
	while (!over) {
		usleep(100000);
		printf("%lu\n", static_cast<unsigned long>(rounds.load()));
		fflush(stdout);
	}
	return nullptr;
}

int main(int argc, char **argv)
{
	pthread_t threads[65];
	if (argc != 3)
		return 2;
	const std::string mode = argv[1];
	const int count = mode == "dlopen" ? 2 : atoi(argv[2]);
	signal(SIGTERM, end);
	throws = mode == "throw";
	waits = mode == "wait";
	pthread_create(&threads[64], nullptr, say, nullptr);
	for (int i = 0; i < count && i < 64; i++)
		pthread_create(&threads[i], nullptr, waits ? wait_long : work,
			reinterpret_cast<void *>(static_cast<uintptr_t>(i)));
	if (mode == "dlopen")
		open_and_close(argv[2]);
	else if (mode == "fork")
		make_children();
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], nullptr);
	pthread_join(threads[64], nullptr);
	puts("well");
	return 0;
}
