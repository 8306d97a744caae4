/* SPDX-License-Identifier: MIT */
/*
 * Functions with frames of every kind, to be walked. Values computed before the call are used after
 * it, so that callee-saved registers are in use and saved at different places.
 */
#include "walked.h"

#include <stdint.h>
#include <string.h>

#define OPAQUE(value) __asm__ volatile("" : "+r"(value) : : "memory")

/* A frame of about 24 n bytes; the odd ones keep six values over the call. */
#define SIXTY(n, next)                                                          \
	__attribute__((noinline)) static int frame_##n(int depth)               \
	{                                                                       \
		char array[(n)*24 + 1];                                         \
		int a = depth + 1, b = depth * 3, c = depth ^ 5, d = depth - 7; \
		memset(array, depth, sizeof array);                             \
		__asm__ volatile("" : : "r"(array) : "memory");                 \
		if ((n) % 2 == 1) {                                             \
			OPAQUE(a);                                              \
			OPAQUE(b);                                              \
			OPAQUE(c);                                              \
			OPAQUE(d);                                              \
		}                                                               \
		if ((n) % 7 == 0)                                               \
			walked_here();                                          \
		int result = next(depth + 1);                                   \
		OPAQUE(result);                                                 \
		return result + a + b + c + d + array[(n)*12];                  \
	}

__attribute__((noinline)) static int frame_end(int depth)
{
	walked_here();
	OPAQUE(depth);
	return depth;
}

SIXTY(60, frame_end)
SIXTY(59, frame_60)
SIXTY(58, frame_59)
SIXTY(57, frame_58)
SIXTY(56, frame_57)
SIXTY(55, frame_56)
SIXTY(54, frame_55)
SIXTY(53, frame_54)
SIXTY(52, frame_53)
SIXTY(51, frame_52)
SIXTY(50, frame_51)
SIXTY(49, frame_50)
SIXTY(48, frame_49)
SIXTY(47, frame_48)
SIXTY(46, frame_47)
SIXTY(45, frame_46)
SIXTY(44, frame_45)
SIXTY(43, frame_44)
SIXTY(42, frame_43)
SIXTY(41, frame_42)
SIXTY(40, frame_41)
SIXTY(39, frame_40)
SIXTY(38, frame_39)
SIXTY(37, frame_38)
SIXTY(36, frame_37)
SIXTY(35, frame_36)
SIXTY(34, frame_35)
SIXTY(33, frame_34)
SIXTY(32, frame_33)
SIXTY(31, frame_32)
SIXTY(30, frame_31)
SIXTY(29, frame_30)
SIXTY(28, frame_29)
SIXTY(27, frame_28)
SIXTY(26, frame_27)
SIXTY(25, frame_26)
SIXTY(24, frame_25)
SIXTY(23, frame_24)
SIXTY(22, frame_23)
SIXTY(21, frame_22)
SIXTY(20, frame_21)
SIXTY(19, frame_20)
SIXTY(18, frame_19)
SIXTY(17, frame_18)
SIXTY(16, frame_17)
SIXTY(15, frame_16)
SIXTY(14, frame_15)
SIXTY(13, frame_14)
SIXTY(12, frame_13)
SIXTY(11, frame_12)
SIXTY(10, frame_11)
SIXTY(9, frame_10)
SIXTY(8, frame_9)
SIXTY(7, frame_8)
SIXTY(6, frame_7)
SIXTY(5, frame_6)
SIXTY(4, frame_5)
SIXTY(3, frame_4)
SIXTY(2, frame_3)
SIXTY(1, frame_2)

int walked_sixty(int depth)
{
	int result = frame_1(depth);
	OPAQUE(result);
	return result;
}

int walked_alloca(int bytes)
{
	char *array = __builtin_alloca((size_t)bytes);
	memset(array, 1, (size_t)bytes);
	walked_here();
	if (bytes > 100)
		bytes += walked_alloca(bytes / 2);
	OPAQUE(array);
	return bytes + array[0];
}

typedef float vector __attribute__((vector_size(32)));

/* 32-byte locals: the stack pointer is rounded down, and the frame found again through another
 * register. Vector code proper is not needed for that, and the machine may not have it. */
int walked_realigned(int seed)
{
	vector local __attribute__((aligned(64)));
	memset(&local, seed, sizeof local);
	__asm__ volatile("" : : "r"(&local) : "memory");
	if (((uintptr_t)&local & 63) != 0)
		return -1;
	walked_here();
	if (seed > 0)
		seed += walked_realigned(seed - 1);
	__asm__ volatile("" : : "r"(&local) : "memory");
	return seed;
}

int walked_realigned_alloca(int bytes)
{
	char local[128] __attribute__((aligned(128)));
	char *array = __builtin_alloca((size_t)bytes);
	memset(array, 1, (size_t)bytes);
	memset(local, 2, sizeof local);
	__asm__ volatile("" : : "r"(local) : "memory");
	walked_here();
	if (bytes > 50)
		bytes += walked_realigned_alloca(bytes / 3) + walked_realigned(2);
	OPAQUE(array);
	return bytes + array[0] + local[5];
}

int walked_recursion(int depth)
{
	int a = depth + 1, b = depth * 3, c = depth ^ 5, d = depth - 7, e = depth / 2;
	OPAQUE(a);
	OPAQUE(b);
	OPAQUE(c);
	OPAQUE(d);
	OPAQUE(e);
	int below = 0;
	if (depth > 1)
		below = walked_recursion(depth - 1);
	else
		walked_here();
	OPAQUE(below);
	return below + (a ^ b ^ c ^ d ^ e);
}
