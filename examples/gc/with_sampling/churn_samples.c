/* SPDX-License-Identifier: MIT */
/* Objects are sampled and counted, and nobody is told. */
#include <stdlib.h>

#include "churn.h"
#include "samples.h"

static struct gc_samples samples;

struct gc_samples *churn_samples(void)
{
	const char *text = getenv("BYTEPOLL_INTERVAL");
	gc_samples_init(&samples, NULL, 1, text != NULL ? strtoull(text, NULL, 10) : BP_SAMPLER_OFF,
		BP_SAMPLER_EXACT);
	return &samples;
}

unsigned long long churn_sample_count(void)
{
	return samples.told;
}
