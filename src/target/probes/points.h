/* SPDX-License-Identifier: MIT */
/*
 * The probe points (point.h): functions that do nothing. Tracers put breakpoints on them. Their
 * arguments are those of the probes, at the places where the machine's calling convention puts
 * them. The notes in points_<machine>.c name these places, and must agree with the number of
 * arguments here. At most 12, which is what libbpf, SystemTap and gdb take; bpftrace 0.17 names the
 * first six of them on x86-64. Called by tracepoints.c alone.
 */
#ifndef BP_PROBES_POINTS_H
#define BP_PROBES_POINTS_H

#include <stdint.h>

void bp_point_alloc(uint64_t object, uint64_t size, uint64_t amount_bytes, uint64_t kind,
	const char *type_name, uint64_t sequence, uint64_t thread, uint64_t type_id,
	uint64_t interval, uint64_t place, uint64_t offset, uint64_t time_ns)
	__attribute__((visibility("hidden")));
void bp_point_free(uint64_t object, uint64_t sample, uint64_t sequence, uint64_t thread,
	uint64_t end, uint64_t time_ns) __attribute__((visibility("hidden")));
void bp_point_interval(uint64_t thread, uint64_t interval, uint64_t trials, uint64_t objects,
	uint64_t time_ns) __attribute__((visibility("hidden")));
void bp_point_move(uint64_t from, uint64_t to, uint64_t sample, uint64_t time_ns)
	__attribute__((visibility("hidden")));
void bp_point_otel_alloc(uint64_t object, uint64_t size, uint64_t amount_bytes)
	__attribute__((visibility("hidden")));
void bp_point_otel_free(uint64_t object) __attribute__((visibility("hidden")));

#endif
