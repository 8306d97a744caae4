/* SPDX-License-Identifier: MIT */
/* Geometric gaps without libm; see gap.c. Called by sampler.c and the tests. Pure, freestanding. */
#ifndef BP_SAMPLER_GAP_H
#define BP_SAMPLER_GAP_H

#include <stdint.h>

/* -ln(u) for u in (0, 1]; relative error below 4e-16 (tests/unit/sampler/test_gap.c). */
double bp_negative_log(double u);

/* 1 / lambda = -1 / log1p(-1/interval) for interval >= 1; 0 at interval 1. Relative error as
 * above. */
double bp_gap_scale(uint64_t interval);

/* Failed trials before the next success, from 64 random bits: floor(-ln(U) * gap_scale), U uniform
 * on the multiples of 2^-53 in (0, 1]. At most 36.8 intervals. */
uint64_t bp_gap(uint64_t random, double gap_scale);

#endif
