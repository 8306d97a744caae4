/* SPDX-License-Identifier: MIT */
/* bytepoll-trace(5) as bytes in the program; manual_trace.h names them. The file is named by meson.build. */
	.section .rodata

	.global bp_manual_trace, bp_manual_trace_end
bp_manual_trace:
	.incbin BP_MANUAL_TRACE_FILE
bp_manual_trace_end:

	.section .note.GNU-stack,"",%progbits
