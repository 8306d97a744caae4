/* SPDX-License-Identifier: MIT */
/*
 * A program whose malloc comes from a library that is not glibc: what `doctor` must name.
 */
#include <stdlib.h>

int main(void)
{
	return malloc(1) == NULL;
}
