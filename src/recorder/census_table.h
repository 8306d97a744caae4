/* SPDX-License-Identifier: MIT */
/*
 * The live objects of a verified run: every address the program holds, to what is known of the object
 * there. Only in the recorder that verifies (census.h); 32 bytes an object, at most three quarters
 * full, in memory that a fork does not hand down.
 * Thread-safe. Not in signal handlers, but for bp_census_table_try_remove.
 */
#ifndef BP_RECORDER_CENSUS_TABLE_H
#define BP_RECORDER_CENSUS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Most objects held: 64 stripes of 2^21 places. */
#define BP_CENSUS_STRIPES 64u
#define BP_CENSUS_STRIPE_MAX ((uint32_t)1 << 21)

/* What is kept of one object. */
struct bp_census_entry {
	uint64_t address; /* 0: none */
	uint64_t size;	  /* requested, bytes */
	uint32_t stack;	  /* id */
	uint32_t thread;  /* ordinal of the maker; 0 not known */
	uint64_t objects; /* the maker's object counter, this one included */
};

/* Puts an entry in. Was there one with the address already, it is replaced, and `ret_replaced` is it
 * (address 0: there was none). False: no memory, or the stripe is full; nothing was changed. */
bool bp_census_table_insert(
	const struct bp_census_entry *entry, struct bp_census_entry *ret_replaced);

/* Takes the entry of an address out; false: it is not there. */
bool bp_census_table_remove(const void *object, struct bp_census_entry *ret_entry);

enum bp_census_found { BP_CENSUS_ABSENT, BP_CENSUS_FOUND, BP_CENSUS_BUSY };

/* The same, but gives up rather than wait: for a signal handler. */
enum bp_census_found bp_census_table_try_remove(
	const void *object, struct bp_census_entry *ret_entry);

/* Bytes mapped. */
uint64_t bp_census_table_bytes(void);

/* Around fork, in the parent; in the child the table is empty. */
void bp_census_table_lock(void);
void bp_census_table_unlock(void);
void bp_census_table_after_fork(void);

#endif
