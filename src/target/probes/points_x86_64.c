/* SPDX-License-Identifier: MIT */
/*
 * The probe points and their notes, x86-64: six arguments in registers, the others above the return
 * address. See point.h, points.h; docs/tracepoints.md lists the probes.
 */
#include "probes/points.h"

#include "probes/point.h"

BP_POINT_BASE();

BP_POINT("bp_point_alloc", "bytepoll", "alloc", "0",
	"8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9 8@8(%rsp) 8@16(%rsp) 8@24(%rsp) 8@32(%rsp) "
	"8@40(%rsp) 8@48(%rsp)");
BP_POINT("bp_point_otel_alloc", "otel_memory", "alloc", "2", "8@%rdi 8@%rsi 8@%rdx");
BP_POINT("bp_point_free", "bytepoll", "free", "4", "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9");
BP_POINT("bp_point_otel_free", "otel_memory", "free", "6", "8@%rdi");
BP_POINT("bp_point_interval", "bytepoll", "interval", "8", "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8");
BP_POINT("bp_point_move", "bytepoll", "move", "10", "8@%rdi 8@%rsi 8@%rdx 8@%rcx");
