/* SPDX-License-Identifier: MIT */
/* LICENSE and NOTICE as bytes in the program; licences.h names them. The files are named by meson.build. */
	.section .rodata

	.global bp_licences, bp_licences_end
bp_licences:
	.incbin BP_LICENCE_FILE
	.ascii "\n"
	.incbin BP_NOTICE_FILE
bp_licences_end:

	.section .note.GNU-stack,"",%progbits
