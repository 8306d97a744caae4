/* SPDX-License-Identifier: MIT */
/*
 * A library that is unloaded, and another that comes to its place: the same code to the byte but
 * for the size of a frame (WALKED_BYTES, from the build), so that its return addresses are the same
 * and the rules there are not.
 */
#include "walked.h"

int walked_plugin(int value);
int walked_plugin(int value)
{
	volatile char frame[WALKED_BYTES];
	frame[0] = (char)value;
	walked_here();
	return frame[0];
}
