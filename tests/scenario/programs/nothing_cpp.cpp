// SPDX-License-Identifier: MIT
// Allocates nothing itself: what is allocated all the same is the C++ runtime's and the loader's.
#include <new>

static void *volatile keep;

int main(int argument_count, char **arguments)
{
	(void)arguments;
	if (argument_count > 1000)
		keep = ::operator new(1);
	return 0;
}
