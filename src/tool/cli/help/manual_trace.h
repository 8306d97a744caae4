/* SPDX-License-Identifier: MIT */
/*
 * bytepoll-trace(5), the page of the trace's format, as scdoc made it: not terminated; empty where
 * there was no scdoc. Defined by manual_trace.S, read by manual.c.
 */
#ifndef BP_CLI_HELP_MANUAL_TRACE_H
#define BP_CLI_HELP_MANUAL_TRACE_H

#define BP_MANUAL_TRACE "trace" /* the word that asks for it */

extern const char bp_manual_trace[], bp_manual_trace_end[];

#endif
