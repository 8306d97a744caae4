/* SPDX-License-Identifier: MIT */
/*
 * Allocates, and says with which rights it ran: the effective user, whether the kernel marked it as
 * having more rights than its caller, and whether the recorder is loaded.
 */
#include <dlfcn.h>
#include <sys/auxv.h>

#include "check.h"

int main(void)
{
	for (int i = 0; i < 10000; i++) {
		void *object = malloc(100);
		CHECK(object != NULL);
		free(object);
	}
	printf("user %d, secure %lu, recorder %d\n", (int)geteuid(), getauxval(AT_SECURE),
		dlsym(RTLD_DEFAULT, "bytepoll_status") != NULL);
	return 0;
}
