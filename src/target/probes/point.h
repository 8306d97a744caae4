/* SPDX-License-Identifier: MIT */
/*
 * A USDT probe point, without <sys/sdt.h>: a function that does nothing, and a note in the ELF file
 * that says where it is. A tracer reads the note, puts a breakpoint on the function's first
 * instruction, adds one to the semaphore so that the function is called at all, and finds the
 * arguments where the note says: in the registers and on the stack, as the machine's calling
 * convention has them. (A tracer that reads argument registers without looking at the note gets the
 * first six right, too.)
 *
 *   .note.stapsdt, not loaded       OFFSET SIZE
 *     length of the name, 8              0    4
 *     length of what follows it          4    4
 *     type, 3                            8    4
 *     "stapsdt\0"                       12    8
 *     address of the first instruction  20    8   as linked; a reader of a file that prelink has
 *                                                 moved corrects it by the next field
 *     address of .stapsdt.base          28    8   as linked, for that correction
 *     address of the semaphore          36    8   of 16 bits, in .probes
 *     provider, name, arguments         44        strings; an argument is BYTES@PLACE, with blanks
 *                                                 between arguments
 *
 * The function is assembler text, because a compiler may put an argument anywhere and this way
 * every one has a place for good. It begins with a one-byte no-operation: the kernel carries that
 * out itself and need not step over it, and a debugger's breakpoint of one byte leaves nothing to
 * be restored. Used by points_<machine>.c alone, which has the machine's words for arguments.
 */
#ifndef BP_PROBES_POINT_H
#define BP_PROBES_POINT_H

/* `semaphore`: offset in struct bp_tracepoint_semaphores. All are string literals. */
#define BP_POINT(function, provider, name, semaphore, arguments)  \
	__asm__(".pushsection .text.bp_points,\"ax\",%progbits\n" \
		".balign 16\n"                                    \
		".globl " function "\n"                           \
		".hidden " function "\n"                          \
		".type " function ",%function\n" function ":\n"   \
		".cfi_startproc\n"                                \
		"990:\tnop\n"                                     \
		"\tret\n"                                         \
		".cfi_endproc\n"                                  \
		".size " function ",.-" function "\n"             \
		".popsection\n"                                   \
		".pushsection .note.stapsdt,\"\",%note\n"         \
		".balign 4\n"                                     \
		".4byte 992f-991f,994f-993f,3\n"                  \
		"991:\t.asciz \"stapsdt\"\n"                      \
		"992:\t.balign 4\n"                               \
		"993:\t.8byte 990b\n"                             \
		".8byte _.stapsdt.base\n"                         \
		".8byte bp_tracepoint_semaphores+" semaphore "\n" \
		".asciz \"" provider "\"\n"                       \
		".asciz \"" name "\"\n"                           \
		".asciz \"" arguments "\"\n"                      \
		"994:\t.balign 4\n"                               \
		".popsection\n")

/* Once in a file with points: what prelinked addresses are counted from. */
#define BP_POINT_BASE()                                                              \
	__asm__(".pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat\n" \
		".weak _.stapsdt.base\n"                                             \
		".hidden _.stapsdt.base\n"                                           \
		"_.stapsdt.base:\t.space 1\n"                                        \
		".size _.stapsdt.base,1\n"                                           \
		".popsection\n")

#endif
