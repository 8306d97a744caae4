/* SPDX-License-Identifier: MIT */
/* See push_id.h. */
#include "fleet/push_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_call.h"

void bp_push_id_draw(const char *prefix, uint64_t unix_s, char ret_id[BP_PUSH_ID_BYTES])
{
	unsigned char random[(BP_PUSH_ID_BYTES - 1) / 2];
	char begin[BP_PUSH_ID_BYTES];
	bp_system_random(random, sizeof random);
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(ret_id + 2 * i, 3, "%02x", random[i]);
	if (*prefix == '\0')
		return;
	const int length = snprintf(begin, sizeof begin, "%.1s%010llu", prefix,
		(unsigned long long)(unix_s < BP_PUSH_SECONDS_END ? BP_PUSH_SECONDS_END - unix_s
								  : 0));
	memcpy(ret_id, begin, (size_t)length);
}

uint64_t bp_push_id_unix_s(const char *id)
{
	char digits[11];
	char *end;
	snprintf(digits, sizeof digits, "%.10s", *id != '\0' ? id + 1 : "");
	const uint64_t left_s = strtoull(digits, &end, 10);
	return end == digits + 10 ? BP_PUSH_SECONDS_END - left_s : 0;
}
