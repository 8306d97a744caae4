/* SPDX-License-Identifier: MIT */
/*
 * forks COUNT: forks COUNT children, each of which allocates once and ends by exit; waits for each.
 * Prints {"wall_ns": ..., "cpu_ns": ..., "faults": ...} per fork, children included (faults: of
 * pages, without reading from a disk).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_of(int who)
{
	struct rusage usage;
	getrusage(who, &usage);
	return 1e9 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       1e3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static double faults_of(int who)
{
	struct rusage usage;
	getrusage(who, &usage);
	return (double)usage.ru_minflt;
}

static double wall_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(int count, char **words)
{
	long forks = count == 2 ? strtol(words[1], NULL, 10) : 0;
	volatile char *object = malloc(1000);
	object[0] = 1;
	double wall = wall_ns(), cpu = cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN);
	double faults = faults_of(RUSAGE_SELF) + faults_of(RUSAGE_CHILDREN);
	for (long i = 0; i < forks; i++) {
		pid_t child = fork();
		if (child == 0) {
			object = malloc(100);
			object[0] = 1;
			exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 1;
	}
	wall = wall_ns() - wall;
	cpu = cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN) - cpu;
	faults = faults_of(RUSAGE_SELF) + faults_of(RUSAGE_CHILDREN) - faults;
	printf("{\"wall_ns\": %.0f, \"cpu_ns\": %.0f, \"faults\": %.1f}\n", wall / (double)forks,
		cpu / (double)forks, faults / (double)forks);
	return 0;
}
