/* SPDX-License-Identifier: MIT */
/* There are none. */
#include "churn.h"

#include <stddef.h>

struct gc_samples *churn_samples(void)
{
	return NULL;
}

unsigned long long churn_sample_count(void)
{
	return 0;
}
