/* SPDX-License-Identifier: MIT */
/*
 * A thread that is within the recorder and cannot go on, while its program is detached.
 *
 *   attach_held RECORDER FOLDER
 *
 * A thread allocates, with every object a sample, and a signal holds it wherever it is. Where that is
 * within the recorder, detach says so at once, and the same again; when the thread goes on, the next call of
 * detach, or of attach, ends the recording. Attempts go on until both were seen. Prints `held I J`: the
 * numbers of the recordings FOLDER/I.bpt, which was ended by detach, and FOLDER/J.bpt, by attach.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DONE 0u
#define NOT_QUIET 6u
#define ATTEMPTS 1000
#define CALLS_MAX 1000
/* Of one call that waits for the thread. It stands in the way of the program's own. */
#define CALL_MOST_NS 1000000000

static volatile int over, hold, is_held;
static uint32_t (*attach)(const char *);
static uint32_t (*detach)(void);

static void wait_in_handler(int number)
{
	(void)number;
	is_held = 1;
	while (hold)
		usleep(1000);
	is_held = 0;
}

static void *allocate(void *argument)
{
	while (!over)
		free(malloc(100));
	return argument;
}

static long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint32_t begin(const char *folder, int number)
{
	char path[4096];
	uint32_t result = NOT_QUIET;
	snprintf(path, sizeof path, "%s/settings", folder);
	FILE *settings = fopen(path, "w");
	fprintf(settings, "BYTEPOLL_OUTPUT=%s/%d.bpt\nBYTEPOLL_INTERVAL=1\n", folder, number);
	fclose(settings);
	for (int calls = 0; calls < CALLS_MAX && result == NOT_QUIET; calls++)
		result = attach(path);
	return result;
}

static uint32_t detach_in_the_end(void)
{
	uint32_t result = NOT_QUIET;
	for (int calls = 0; calls < CALLS_MAX && result == NOT_QUIET; calls++)
		result = detach();
	return result;
}

/* Detaches while the thread is held; was that within the recorder? */
static int detach_while_held(pthread_t thread)
{
	const long began_ns = now_ns();
	hold = 1;
	pthread_kill(thread, SIGUSR1);
	while (!is_held)
		usleep(100);
	const uint32_t first = detach();
	const int within = first == NOT_QUIET;
	if ((!within && first != DONE) || (within && detach() != NOT_QUIET))
		exit(6);
	if (within && now_ns() - began_ns > 2 * CALL_MOST_NS)
		exit(7);
	hold = 0;
	while (is_held)
		usleep(100);
	return within;
}

int main(int argc, char **argv)
{
	int by_detach = -1, by_attach = -1, open_number = -1;
	pthread_t thread;
	if (argc != 3 || signal(SIGUSR1, wait_in_handler) == SIG_ERR ||
		pthread_create(&thread, NULL, allocate, NULL) != 0)
		return 2;
	void *recorder = dlopen(argv[1], RTLD_NOW);
	if (recorder == NULL)
		return 3;
	attach = (uint32_t(*)(const char *))dlsym(recorder, "bytepoll_attach");
	detach = (uint32_t(*)(void))dlsym(recorder, "bytepoll_detach");
	for (int i = 0; i < ATTEMPTS && (by_detach < 0 || by_attach < 0); i++) {
		if (begin(argv[2], i) != DONE)
			return 4;
		if (open_number >= 0)
			by_attach = open_number;
		open_number = -1;
		usleep(2000);
		if (!detach_while_held(thread))
			continue;
		if (by_detach >= 0) {
			open_number = i;
			continue;
		}
		by_detach = i;
		if (detach_in_the_end() != DONE)
			return 5;
	}
	over = 1;
	pthread_join(thread, NULL);
	printf("held %d %d\n", by_detach, by_attach);
	return by_detach >= 0 && by_attach >= 0 ? 0 : 8;
}
