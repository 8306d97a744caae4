/* SPDX-License-Identifier: MIT */
/* The page as built from web/ (web/dist is committed: building bytepoll takes no node), as bytes in the program;
 * html_bundle.h names them. the BP_WEB_ names are set by meson.build. */
	.section .rodata
	.balign 16

	.global bp_page_template, bp_page_template_end
bp_page_template:
	.incbin BP_WEB_TEMPLATE
bp_page_template_end:

	.global bp_page_style, bp_page_style_end
bp_page_style:
	.incbin BP_WEB_STYLE
bp_page_style_end:

	.global bp_page_script, bp_page_script_end
bp_page_script:
	.incbin BP_WEB_SCRIPT
bp_page_script_end:

	.global bp_page_wasm, bp_page_wasm_end
bp_page_wasm:
	.incbin BP_WEB_WASM
bp_page_wasm_end:

	.section .note.GNU-stack,"",%progbits
