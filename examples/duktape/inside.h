/* SPDX-License-Identifier: MIT */
/* The call stack of a Duktape heap, read from inside its allocation functions. */
#ifndef EXAMPLE_INSIDE_H
#define EXAMPLE_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include <duktape.h>

struct duktape_frame {
	const char *function; /* "" if it has no name; valid until Duktape runs again */
	const char *file;     /* "" for a function in C */
	uint32_t line;	      /* that is being executed; 0: not known */
};

/* Called for each frame; false: no more are wanted. It must not call Duktape. */
typedef bool duktape_frame_visit(const struct duktape_frame *frame, void *context);

/* Visits the functions that run in the heap of `of`, innermost first, with those that have resumed
 * the running coroutine behind it. Allocates nothing, raises nothing and changes nothing in the
 * heap, so that the heap's allocation functions may call it whenever Duktape calls them. */
void duktape_frames(duk_context *of, duktape_frame_visit *visit, void *context);

#endif
