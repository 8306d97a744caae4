/* SPDX-License-Identifier: MIT */
/*
 * Calls through procedure linkage tables. walked_lazily is bound when it is first called: the
 * loader then asks its resolver, from within the call, and that is where the stack is walked:
 * through the loader's trampoline and the table. Built with lazy binding, as a library of its own.
 */
#include "walked.h"

static int the_function(int value)
{
	return value + 1;
}

/* The resolver. Not called at start, because the library binds lazily. */
extern int (*walked_resolver(void))(int);
int (*walked_resolver(void))(int)
{
	walked_here();
	return the_function;
}

int walked_late(int value) __attribute__((ifunc("walked_resolver")));

int walked_lazily(int value)
{
	int result = walked_late(value);
	__asm__ volatile("" : "+r"(result));
	return result;
}

int walked_leaf(int value);
int walked_leaf(int value)
{
	return value * 3;
}

int walked_stepped(int value)
{
	int a = walked_leaf(value) + walked_leaf(value + 1);
	__asm__ volatile("" : "+r"(a));
	return a + walked_leaf(a);
}
