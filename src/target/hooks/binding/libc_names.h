/* SPDX-License-Identifier: MIT */
/* Names of glibc's allocation functions that its headers do not declare. */
#ifndef BP_HOOKS_BINDING_LIBC_NAMES_H
#define BP_HOOKS_BINDING_LIBC_NAMES_H

#include <stddef.h>

void cfree(void *object);
void free_sized(void *object, size_t size);
void free_aligned_sized(void *object, size_t alignment, size_t size);
void *__libc_malloc(size_t size);
void __libc_free(void *object);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *object, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);

#endif
