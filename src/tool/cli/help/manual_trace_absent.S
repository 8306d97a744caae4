/* SPDX-License-Identifier: MIT */
/* No page: where bytepoll is built without scdoc. See manual_trace.h. */
	.section .rodata

	.global bp_manual_trace, bp_manual_trace_end
bp_manual_trace:
bp_manual_trace_end:

	.section .note.GNU-stack,"",%progbits
