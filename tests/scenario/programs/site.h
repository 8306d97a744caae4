/* SPDX-License-Identifier: MIT */
/*
 * Call sites by name: SITE(node) makes `void *site_node(size_t size)`, which calls malloc and stays a
 * function of its own in the stack.
 */
#ifndef BP_TESTS_SITE_H
#define BP_TESTS_SITE_H

#include <stdlib.h>

#define SITE(name)                                                \
	__attribute__((noinline)) void *site_##name(size_t size); \
	__attribute__((noinline)) void *site_##name(size_t size)  \
	{                                                         \
		void *memory = malloc(size);                      \
		__asm__ volatile("" : "+r"(memory));              \
		return memory;                                    \
	}

#endif
