/* SPDX-License-Identifier: MIT */
/* A host that names no file for its trace; says with which rights it ran, and whether the trace was
 * opened. */
#include <sys/auxv.h>

#include "bytepoll/host.h"
#include "check.h"

int main(void)
{
	struct bp_host *host =
		bp_host_open(&(struct bp_host_options){ .name = "test", .interval = 64 });
	printf("user %d, secure %lu, host %d\n", (int)geteuid(), getauxval(AT_SECURE),
		host != NULL);
	bp_host_close(host);
	return 0;
}
