/* SPDX-License-Identifier: MIT */
/* See sha256.h. The names are those of FIPS 180-4, sections 4.1.2, 4.2.2 and 6.2. */
#include "bucket/sha256.h"

#include <stdio.h>
#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = { 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
	0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6,
	0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d,
	0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585,
	0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa,
	0xa4506ceb, 0xbef9a3f7, 0xc67178f2 };

static uint32_t rotated(uint32_t x, int by)
{
	return x >> by | x << (32 - by);
}

static uint32_t big_endian(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void add_block(uint32_t state[8], const uint8_t block[64])
{
	uint32_t w[64], v[8];
	for (int t = 0; t < 16; t++)
		w[t] = big_endian(block + 4 * t);
	for (int t = 16; t < 64; t++) {
		const uint32_t a = w[t - 15], b = w[t - 2];
		w[t] = w[t - 16] + w[t - 7] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) +
		       (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
	}
	memcpy(v, state, sizeof v);
	for (int t = 0; t < 64; t++) {
		const uint32_t a = v[0], e = v[4];
		const uint32_t t1 = v[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
				    ((e & v[5]) ^ (~e & v[6])) + constants[t] + w[t];
		const uint32_t t2 = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +
				    ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void bp_sha256_begin(struct bp_sha256 *hash)
{
	*hash = (struct bp_sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void bp_sha256_add(struct bp_sha256 *hash, const void *data, size_t bytes)
{
	const uint8_t *from = data;
	while (bytes > 0) {
		const size_t used = hash->bytes % sizeof hash->block;
		size_t part = sizeof hash->block - used;
		if (part > bytes)
			part = bytes;
		memcpy(hash->block + used, from, part);
		hash->bytes += part;
		from += part;
		bytes -= part;
		if (used + part == sizeof hash->block)
			add_block(hash->state, hash->block);
	}
}

void bp_sha256_end(struct bp_sha256 *hash, char ret_text[BP_SHA256_TEXT_BYTES])
{
	static const uint8_t padding[64] = { 0x80 };
	const uint64_t bits = hash->bytes * 8;
	const size_t used = hash->bytes % 64;
	uint8_t length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	bp_sha256_add(hash, padding, used < 56 ? 56 - used : 120 - used);
	bp_sha256_add(hash, length, sizeof length);
	for (int i = 0; i < 8; i++)
		snprintf(ret_text + 8 * i, 9, "%08x", hash->state[i]);
}
