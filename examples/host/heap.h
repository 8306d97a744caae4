/* SPDX-License-Identifier: MIT */
/*
 * The smallest allocator that is a host (bytepoll/host.h): objects of malloc with a type each,
 * allocated by functions of some language. It reads BYTEPOLL_INTERVAL, _SEED, _START and
 * _HOST_OUTPUT, and follows `bytepoll control`. Thread-safe; a thread allocates between
 * heap_thread_begin and heap_thread_end.
 */
#ifndef HEAP_H
#define HEAP_H

#include <stddef.h>
#include <stdint.h>

void heap_open(void);
void heap_close(void);
void heap_thread_begin(const char *name);
void heap_thread_end(void);
void heap_enter(const char *function, const char *file, uint32_t line);
void *heap_new(size_t size, const char *type);
void heap_delete(void *object);

#endif
