/* SPDX-License-Identifier: MIT */
/* What differs in gc-churn between the two: one file in each of with_sampling, without_sampling. */
#ifndef GC_CHURN_H
#define GC_CHURN_H

struct gc_samples;

struct gc_samples *churn_samples(void);
unsigned long long churn_sample_count(void);

#endif
