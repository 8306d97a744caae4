/* SPDX-License-Identifier: MIT */
/*
 * The probe points and their notes, 64-bit ARM: eight arguments in registers, the others at the
 * stack pointer. See point.h, points.h; docs/tracepoints.md lists the probes.
 */
#include "probes/points.h"

#include "probes/point.h"

BP_POINT_BASE();

BP_POINT("bp_point_alloc", "bytepoll", "alloc", "0",
	"8@x0 8@x1 8@x2 8@x3 8@x4 8@x5 8@x6 8@x7 8@[sp, 0] 8@[sp, 8] 8@[sp, 16] 8@[sp, 24]");
BP_POINT("bp_point_otel_alloc", "otel_memory", "alloc", "2", "8@x0 8@x1 8@x2");
BP_POINT("bp_point_free", "bytepoll", "free", "4", "8@x0 8@x1 8@x2 8@x3 8@x4 8@x5");
BP_POINT("bp_point_otel_free", "otel_memory", "free", "6", "8@x0");
BP_POINT("bp_point_interval", "bytepoll", "interval", "8", "8@x0 8@x1 8@x2 8@x3 8@x4");
BP_POINT("bp_point_move", "bytepoll", "move", "10", "8@x0 8@x1 8@x2 8@x3");
