/* SPDX-License-Identifier: MIT */
/*
 * Does what it is told, for somebody who watches: a line on standard input, "ok" when it is done.
 *
 *   hold N   N objects of 1000 bytes, kept           drop     gives all of them back waste N  N
 *   objects of 1000 bytes, each freed at once thread T a thread of that name makes 500 objects of
 *   2000 bytes, which stay, and waits fork     a child makes 700 objects of 3000 bytes, which stay,
 *   and waits for the end of its parent (end of the input)   it exits
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "check.h"

#define SITE __attribute__((noinline))
#define HELD_MAX 1000000

static void *held[HELD_MAX], *kept[2000];
static int held_count, kept_count;

SITE static void *site_hold(void)
{
	void *pointer = malloc(1000);
	KEEP(pointer);
	return pointer;
}

SITE static void site_waste(void)
{
	void *pointer = malloc(1000);
	KEEP(pointer);
	free(pointer);
}

SITE static void *site_thread(void)
{
	void *pointer = malloc(2000);
	KEEP(pointer);
	return pointer;
}

SITE static void *site_child(void)
{
	void *pointer = malloc(3000);
	KEEP(pointer);
	return pointer;
}

static int ready[2];

static void *run(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 500; i++)
		kept[kept_count++] = site_thread();
	if (write(ready[1], "x", 1) != 1)
		return NULL;
	for (;;)
		pause();
}

static void start_thread(char *name)
{
	pthread_t thread;
	char byte;
	if (pthread_create(&thread, NULL, run, name) != 0 || read(ready[0], &byte, 1) != 1)
		exit(3);
}

static void start_child(void)
{
	char byte;
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < 700; i++)
			kept[kept_count++] = site_child();
		if (write(ready[1], "x", 1) != 1)
			_exit(3);
		for (;;)
			pause();
	}
	if (read(ready[0], &byte, 1) != 1)
		exit(3);
}

static void obey(const char *word, const char *rest)
{
	const int number = atoi(rest);
	if (strcmp(word, "hold") == 0)
		for (int i = 0; i < number && held_count < HELD_MAX; i++)
			held[held_count++] = site_hold();
	else if (strcmp(word, "drop") == 0)
		while (held_count > 0)
			free(held[--held_count]);
	else if (strcmp(word, "waste") == 0)
		for (int i = 0; i < number; i++)
			site_waste();
	else if (strcmp(word, "thread") == 0)
		start_thread((char *)rest);
	else if (strcmp(word, "fork") == 0)
		start_child();
}

int main(void)
{
	static char line[256], out[BUFSIZ], in[BUFSIZ];
	setvbuf(stdin, in, _IOFBF, sizeof in);
	setvbuf(stdout, out, _IOLBF, sizeof out);
	if (pipe(ready) != 0)
		return 3;
	while (fgets(line, sizeof line, stdin) != NULL) {
		char *word = strtok(line, " \n"), *rest = strtok(NULL, "\n");
		if (word != NULL)
			obey(word, rest != NULL ? rest : "");
		puts("ok");
	}
	return 0;
}
