/* SPDX-License-Identifier: MIT */
/*
 * Objects that are freed on a known processor, for tests/scenario/test_processors.py: 4,000 of 100
 * bytes are made on processor A, of which each fourth is freed on processor B and the others on A;
 * and 1,000 of 300 bytes that are made on A and freed on B.
 *
 *	processors A B
 */
#include <sched.h>
#include <stdlib.h>

#include "site.h"

SITE(some)
SITE(all)

static void move_to(int processor)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		abort();
}

int main(int arguments, char **words)
{
	static void *objects[1000];
	if (arguments != 3)
		return 2;
	const int a = atoi(words[1]), b = atoi(words[2]);
	for (int round = 0; round < 5; round++) {
		move_to(a);
		for (int i = 0; i < 1000; i++)
			objects[i] = round < 4 ? site_some(100) : site_all(300);
		for (int i = 0; i < 1000 && round < 4; i++)
			if (i % 4 != 0)
				free(objects[i]);
		move_to(b);
		for (int i = 0; i < 1000; i++)
			if (round == 4 || i % 4 == 0)
				free(objects[i]);
	}
	return 0;
}
