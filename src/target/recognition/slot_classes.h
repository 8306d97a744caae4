/* SPDX-License-Identifier: MIT */
/*
 * Which class of slots a request belongs to: strides of 32, 48 ... 528 bytes, then eight per
 * doubling, up to 64 KiB. Part of slots.c; pure.
 */
#ifndef BP_RECOGNITION_SLOT_CLASSES_H
#define BP_RECOGNITION_SLOT_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#define STRIDE_MIN 32u
#define STRIDE_STEPS_END 528u /* 16-byte steps up to here */
#define CLASSES_STEPS ((STRIDE_STEPS_END - STRIDE_MIN) / 16 + 1)
#define CLASSES_PER_DOUBLING 8u
#define STRIDE_MAX 67584u /* 528 << 7: a chunk of 64 KiB fits */
#define CLASSES (CLASSES_STEPS + 7 * CLASSES_PER_DOUBLING)
#define NONE UINT32_MAX

static inline size_t chunk_bytes(size_t size)
{
	size_t chunk = (size + 8 + 15) & ~(size_t)15;
	return chunk < STRIDE_MIN ? STRIDE_MIN : chunk;
}

static inline uint32_t class_stride(uint32_t class)
{
	if (class < CLASSES_STEPS)
		return STRIDE_MIN + 16 * class;
	uint32_t step = class - CLASSES_STEPS;
	uint32_t base = STRIDE_STEPS_END << (step / CLASSES_PER_DOUBLING);
	uint32_t stride = base + base / CLASSES_PER_DOUBLING * (step % CLASSES_PER_DOUBLING + 1);
	return (stride + 15) & ~15u;
}

/* The smallest class of at least `stride` bytes, NONE beyond the largest. */
static inline uint32_t class_of(size_t stride)
{
	if (stride <= STRIDE_STEPS_END)
		return (uint32_t)((stride - STRIDE_MIN + 15) / 16);
	if (stride > STRIDE_MAX)
		return NONE;
	uint32_t doubling = 0;
	while (stride > (size_t)STRIDE_STEPS_END << (doubling + 1))
		doubling++;
	uint32_t class = CLASSES_STEPS + doubling * CLASSES_PER_DOUBLING;
	while (class_stride(class) < stride)
		class ++;
	return class;
}

#endif
