/* SPDX-License-Identifier: MIT */
/*
 * What runtimes call their code, as a name of a function and a file. V8 (Node.js, Chromium) puts
 * the kind of code and how far it is optimised before a name and its place behind it: one function
 * has several pieces of code, and is one function to its reader. CPython's trampolines have the
 * file behind the name. Other names, as those of Java and .NET, are left as they are.
 */
#ifndef BP_JIT_JIT_SYMBOL_H
#define BP_JIT_JIT_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>

/* Parts of the text; `file_bytes` 0: none is told. A function without a name is called by its
 * place, "(anonymous main.js:3)", in `made`; `function` is then that. */
struct bp_jit_symbol {
	const char *function, *file;
	size_t function_bytes, file_bytes;
	bool trampoline; /* of CPython: the function of Python has a frame of its own */
	char made[128];
};

/* Pure; `ret_symbol` points into `text` and itself. */
void bp_jit_symbol_read(const char *text, struct bp_jit_symbol *ret_symbol);

#endif
