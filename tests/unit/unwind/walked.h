/* SPDX-License-Identifier: MIT */
/*
 * The programs whose stacks test_stack.c walks. Each calls walked_here() from the depths of
 * something; there both walks are made and compared.
 */
#ifndef BP_TESTS_RECORDER_WALKED_H
#define BP_TESTS_RECORDER_WALKED_H

#ifdef __cplusplus
extern "C" {
#endif

/* Compares the walk under test with libgcc's, from the caller's frame outwards. */
void walked_here(void);

/* walked_frames.c: sixty functions, each calling the next, with frames of different sizes. */
int walked_sixty(int depth);
/* Frames whose size is found at run time, frames realigned for vectors, and both. */
int walked_alloca(int bytes);
int walked_realigned(int seed);
int walked_realigned_alloca(int bytes);
/* `depth` frames of a recursion that keeps values in every callee-saved register. */
int walked_recursion(int depth);

/* walked_exceptions.cpp: from try blocks, handlers, and destructors that run while an exception
 * flies. Returns the number of walks made. */
int walked_exceptions(void);

/* walked_lazily.c: from the resolver of a function that is bound at its first call. */
int walked_lazily(int value);
/* Called through the procedure linkage table of its library, always. */
int walked_stepped(int value);

#ifdef __cplusplus
}
#endif

#endif
