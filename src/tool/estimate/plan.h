/* SPDX-License-Identifier: MIT */
/*
 * Planning: how accurate a figure will be that rests on so many samples, and how many samples, or
 * which sampling interval T, a wanted accuracy takes (docs/statistics.md, "Planning"). Nothing here
 * is a table: accuracies come from the intervals of estimate.h themselves, powers from the
 * distribution of the tests that `diff` and `check` make.
 *
 * Called by report/ and cli/ for `bytepoll plan`. Pure, safe to call from any thread.
 *
 * Unless a size is given, objects are small against T: the worst case. `samples` is an expected
 * number and need not be whole. alpha, level: two-sided error; a: one-sided; all in (0, 1).
 */
#ifndef BP_ESTIMATE_PLAN_H
#define BP_ESTIMATE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* What is known beforehand of the figure that is planned. Zeroed: the worst case. */
struct bp_plan_key {
	uint64_t size; /* its objects have this size, bytes; 0: they are small */
	double share;  /* it is this part of a counted total, in (0, 1); 0: no total is counted */
};

/* Limits of a confidence interval as multiples of the estimate: low <= 1 <= high. */
struct bp_plan_factors {
	double low, high;
};

/* The interval, N3 or with a share the tilted beta one, of a figure with `samples` > 0 expected
 * samples at `interval` >= 1. The other objects of the total are assumed to have the same size; a
 * share below .001 counts as none. Law `exact`. */
struct bp_plan_factors bp_plan_factors(
	struct bp_plan_key key, double samples, uint64_t interval, double alpha);

/* What is wanted: that at least the part `power` of runs, in [.5, 1), have both limits within (1 +-
 * accuracy) times the estimate; accuracy in [1e-4, 10]. */
struct bp_plan_aim {
	double accuracy, power, alpha;
};

/* The smallest whole number of expected samples that reaches the aim, for objects of
 * `relative_size` in [0, 1) times T. Exact for small objects without a counted total, else to
 * within 2 % of runs. */
uint64_t bp_plan_samples(double relative_size, double share, struct bp_plan_aim aim);

/* The largest T at which a figure of `bytes` reaches the aim; 1 (every object) if no larger one
 * does. */
uint64_t bp_plan_interval(double bytes, struct bp_plan_key key, struct bp_plan_aim aim);

/* For a run that recorded no sample: the T, a round one, with which a tenth of its counted `bytes`
 * >= 0 is known to 10 % in 80 % of runs, at 95 %. */
uint64_t bp_plan_interval_of_tenth(double bytes);

/* How wide the interval of `bytes` will be at most in the part `power` of runs: the farther one of
 * its limits, as a part of the estimate; INFINITY where so many runs may be without a sample. */
double bp_plan_accuracy(
	double bytes, struct bp_plan_key key, uint64_t interval, double power, double alpha);

/* Upper limit of a figure without a sample, in multiples of T: -ln(alpha / 2), 3.69 at 95 %. */
double bp_plan_unseen(double alpha);

/* The inverse of bp_plan_factors for small objects: the number of samples, not necessarily whole,
 * whose upper limit is (1 + accuracy) times the estimate; accuracy > 0. */
double bp_plan_equivalent_samples(double accuracy, double alpha);

/* The largest T that `run --interval` takes, bytes. */
#define BP_PLAN_INTERVAL_MAX ((uint64_t)1 << 40)

struct bp_interval;

/* The next run, planned from a figure of the last one. */
struct bp_plan_next {
	double accuracy;   /* now: the farther limit, as a part of the estimate, > 0 */
	double equivalent; /* samples of small objects that would be as accurate */
	uint64_t interval; /* T in bytes that reaches the aim if the next run allocates the same */
};

/* Of `bytes`, recorded at T = `interval` >= 1; `needed`: bp_plan_samples(0, 0, aim), which takes
 * a while and is the same for all rows. False, with nothing written: the figure is exact, or there
 * is no estimate to start from. */
bool bp_plan_next(const struct bp_interval *bytes, uint64_t interval, double needed,
	struct bp_plan_aim aim, struct bp_plan_next *ret_next);

/* The largest T of 1, 2, 3, 4, 6, 8, 12 ... (powers of two, and half as much again) that is not
 * above `interval` >= 1: what a command to type is given, since nobody remembers 6035. */
uint64_t bp_plan_round_interval(uint64_t interval);

/* Samples expected of `bytes` in objects of `size` (0: small) at `interval`, by the law `exact`. */
double bp_plan_expected_samples(double bytes, uint64_t size, uint64_t interval);

/* Probability that at least one of `trials` bytes is a success of the sampler: that a sample is
 * left by so many bytes in small objects, or by one object of that size under the law `bernoulli`.
 * Under the law `exact`, one object of T or more is always recorded. */
double bp_plan_chance(uint64_t trials, uint64_t interval);

/* Mean absolute error of the estimate of one object that was sampled, as a multiple of its size: g
 * = 1 / pi - 1, and 0 from T on. The same for Horvitz-Thompson, T + k - offset and T x hits. */
double bp_plan_error_if_sampled(uint64_t trials, uint64_t interval);

/* The change by `factor` (> 1: grown; < 1: shrunk) of a figure with `samples` expected samples
 * before, T the same on both sides: the probability that the two-sided test of compare.h rejects
 * "no change" at `level` in the right direction. Exact sum over the outcomes of the conditional
 * binomial test for up to 20,000 samples (cut at 1e-7), its normal approximation beyond. */
double bp_plan_change_power(double samples, double factor, double level);

/* The smallest whole number of samples before with which a change by `factor` (not 1, > 0) is found
 * with probability `power`; and the smallest growth (> 1) that is found with `samples` before. */
uint64_t bp_plan_samples_for_change(double factor, double power, double level);
double bp_plan_smallest_change(double samples, double power, double level);

/* A check on a limit, at false-alarm rate a (check.h). */
enum bp_plan_outcome {
	BP_PLAN_EXCEEDED, /* the truth is `factor` times the limit */
	BP_PLAN_WITHIN,	  /* the truth is the limit divided by `factor` */
};

/* The probability of that outcome where the limit itself stands for `limit_samples` = limit / T
 * samples; factor > 1. */
double bp_plan_check_power(
	enum bp_plan_outcome outcome, double limit_samples, double factor, double a);

/* The smallest limit_samples from which on the outcome has at least this probability: T may be at
 * most limit / that. */
double bp_plan_check_samples(enum bp_plan_outcome outcome, double factor, double power, double a);

/* A figure on the hosts of a service, compared with the same on as many other hosts (of another
 * release, or in another hour) by Welch's test of the hosts (diff.h, bp_diff_runs). */
struct bp_plan_hosts {
	double bytes;	  /* of a host on average, in small objects, > 0 */
	double variation; /* standard deviation between hosts over their mean, >= 0 */
	double change;	  /* new / base of every host, > 0 and not 1 */
};

/* The probability that the two-sided test at `level` finds the change, in the right direction, with
 * `hosts` on each side at T = `interval` >= 1. About: the noncentral t distribution is taken for a
 * normal one (within .03 from 10 hosts on, against bp_diff_runs simulated). */
double bp_plan_hosts_power(struct bp_plan_hosts plan, double hosts, double interval, double level);
/* The largest T, up to 2^40, with which it is found with probability `power`; 0: not even at T = 1,
 * since so few hosts differ too much. */
double bp_plan_hosts_interval(struct bp_plan_hosts plan, double hosts, double power, double level);
/* The fewest hosts on each side with which it is found at T = `interval`, up to 10^12. */
double bp_plan_hosts_least(struct bp_plan_hosts plan, double interval, double power, double level);

/* What a store takes, measured (docs/fleet.md, "What it costs"): bytes of tables for a sample, with
 * its readings, and for a run (names, stacks, counters); seconds of a question for a sample and for
 * the folder of a run. */
#define BP_PLAN_STORE_BYTES_PER_SAMPLE 21.0
#define BP_PLAN_STORE_BYTES_PER_RUN 40e3
#define BP_PLAN_STORE_SECONDS_PER_SAMPLE 1e-7
#define BP_PLAN_STORE_SECONDS_PER_RUN 8e-3
/* A sample and its free in the program (docs/benchmarks.md): 1.4 us each in sqlite3 and python3. */
#define BP_PLAN_SECONDS_PER_SAMPLE 1.5e-6

/* Bytes that a trace grows by per sample, its free and its part of the tables of stacks
 * included, and those of a process without a sample. Measured on sqlite3, python3 and gcc: 25 to
 * 40 a sample. */
#define BP_PLAN_TRACE_BYTES_PER_SAMPLE 40.0
#define BP_PLAN_TRACE_BYTES_LEAST 65536.0

#endif
