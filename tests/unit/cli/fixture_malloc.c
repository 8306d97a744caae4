/* SPDX-License-Identifier: MIT */
/*
 * A program, or a library, with a malloc of its own: what `doctor` must find.
 */
#include <stddef.h>

void *malloc(size_t size);

static char memory[1 << 16];
static size_t used;

void *malloc(size_t size)
{
	used += (size + 15) & ~(size_t)15;
	return used > sizeof memory ? NULL : memory + used - ((size + 15) & ~(size_t)15);
}

int main(void)
{
	return malloc(1) == NULL;
}
