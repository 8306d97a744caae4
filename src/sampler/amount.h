/* SPDX-License-Identifier: MIT */
/* How many bytes a sampled object stands for; see amount.c. For whoever tells of samples while they
 * are made (tracepoints, listeners); reports weight by src/tool/estimate. Pure, freestanding. */
#ifndef BP_SAMPLER_AMOUNT_H
#define BP_SAMPLER_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* 1 - (1 - 1/interval)^trials, the probability that an object of so many trials is sampled, for
 * interval >= 1; relative error below 1e-14. 0 for no trial. */
double bp_inclusion(uint64_t trials, uint64_t interval);

/* size / bp_inclusion(size + charge, interval), to the nearest byte: the sum over samples has the
 * allocated bytes as its mean. `exact`: taken with certainty, so it stands for itself. At most
 * 2^63. */
uint64_t bp_amount_bytes(uint64_t size, uint64_t charge, uint64_t interval, bool exact);

#endif
