// SPDX-License-Identifier: MIT What sampling costs a host that allocates by moving a pointer,
// without the host: objects of 64 bytes in contexts of a given size, addresses that nothing is
// stored at.
//
//	contexts plain|explicit|implicit CONTEXT_BYTES INTERVAL ALLOCATED_BYTES [SLICES]
//
// plain: no sampling. explicit: bytepoll/alloc_context.h. implicit: a fresh draw at every refill
// (tests/unit/sampler/implicit_context.h). With SLICES the bytes are divided into so many, each is
// timed, and the 5th percentile is printed, as ns a refill. Without, nothing is printed: for
// counting instructions.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bytepoll/alloc_context.h"
#include "implicit_context.h"

#define OBJECT_BYTES 64

enum form { PLAIN, EXPLICIT, IMPLICIT };

struct host {
	struct bp_alloc_context context;
	enum form form;
	uint64_t context_bytes, refills, samples;
};

static __attribute__((noinline)) void refill(struct host *host)
{
	const uintptr_t start = (uintptr_t)(1 + (++host->refills & 0xffff)) << 20;
	const uintptr_t end = start + host->context_bytes;
	if (host->form == EXPLICIT) {
		bp_alloc_context_refill(&host->context, start, end);
	} else if (host->form == IMPLICIT) {
		implicit_context_refill(&host->context, start, end);
	} else {
		host->context.pointer = start;
		host->context.limit = end;
	}
}

static __attribute__((noinline)) void allocate_slow(struct host *host)
{
	struct bp_decision decision;
	if (host->form == PLAIN) {
		refill(host);
		host->context.pointer += OBJECT_BYTES;
		return;
	}
	while (!bp_alloc_context_slow(&host->context, OBJECT_BYTES, &decision))
		refill(host);
	host->samples += decision.sampled;
}

static __attribute__((noinline)) void allocate(struct host *host, uint64_t refills)
{
	const uint64_t last = host->refills + refills;
	while (host->refills < last) {
		if (OBJECT_BYTES > host->context.limit - host->context.pointer)
			allocate_slow(host);
		else
			host->context.pointer += OBJECT_BYTES;
	}
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double ns_of_slice(struct host *host, uint64_t refills)
{
	struct timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	allocate(host, refills);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
	       (double)refills;
}

static int time_slices(struct host *host, uint64_t refills, unsigned slices)
{
	double *ns = calloc(slices, sizeof *ns);
	if (ns == NULL || refills < slices)
		return 1;
	for (unsigned i = 0; i < slices; i++)
		ns[i] = ns_of_slice(host, refills / slices);
	qsort(ns, slices, sizeof *ns, compare);
	printf("{\"refill_ns\": %.3f, \"samples\": %" PRIu64 "}\n", ns[slices / 20], host->samples);
	free(ns);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "plain", "explicit", "implicit" };
	struct host host = { 0 };
	while (argc >= 5 && host.form <= IMPLICIT && strcmp(argv[1], names[host.form]) != 0)
		host.form++;
	if (argc < 5 || argc > 6 || host.form > IMPLICIT) {
		fprintf(stderr, "usage: contexts plain|explicit|implicit CONTEXT_BYTES INTERVAL "
				"ALLOCATED_BYTES [SLICES]\n");
		return 2;
	}
	host.context_bytes = strtoull(argv[2], NULL, 10);
	if (host.context_bytes < OBJECT_BYTES || host.context_bytes > 1 << 20)
		return 2;
	bp_alloc_context_init(&host.context, 1, strtoull(argv[3], NULL, 10), BP_SAMPLER_EXACT);
	const uint64_t refills = strtoull(argv[4], NULL, 10) / host.context_bytes;
	if (argc == 6)
		return time_slices(&host, refills, (unsigned)strtoul(argv[5], NULL, 10));
	allocate(&host, refills);
	return 0;
}
