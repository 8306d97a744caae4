/* SPDX-License-Identifier: MIT */
/*
 * The live objects of a verified run: a table from every address that the program holds to what is
 * known of the object there. Only in the recorder that verifies (verify.h). An entry has 32 bytes,
 * and the table is at most three quarters full; a child of fork does not inherit its memory.
 * Thread-safe. Not in signal handlers, except bp_verify_table_try_remove.
 */
#ifndef BP_TABLES_VERIFY_TABLE_H
#define BP_TABLES_VERIFY_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Most objects held: 64 stripes of 2^21 places. */
#define BP_VERIFY_STRIPES 64u
#define BP_VERIFY_STRIPE_MAX ((uint32_t)1 << 21)

/* What is kept of one object. */
struct bp_verify_entry {
	uint64_t address; /* 0: none */
	uint64_t size;	  /* requested, bytes */
	uint32_t stack;	  /* id */
	uint32_t thread;  /* ordinal of the thread that allocated it; 0 not known */
	uint64_t objects; /* the object counter of that thread, this object included */
};

/* Inserts an entry. An entry of the same address is replaced and copied to `ret_replaced` (its
 * address is 0 if there was none). False: no memory, or the stripe is full; nothing was changed. */
bool bp_verify_table_insert(
	const struct bp_verify_entry *entry, struct bp_verify_entry *ret_replaced);

/* Removes the entry of an address; false: there is none. */
bool bp_verify_table_remove(const void *object, struct bp_verify_entry *ret_entry);

enum bp_verify_found { BP_VERIFY_ABSENT, BP_VERIFY_FOUND, BP_VERIFY_BUSY };

/* The same for a signal handler: returns BP_VERIFY_BUSY where it would have to wait. */
enum bp_verify_found bp_verify_table_try_remove(
	const void *object, struct bp_verify_entry *ret_entry);

/* Bytes mapped. */
uint64_t bp_verify_table_bytes(void);

/* Called around fork; in the child the table begins empty. */
void bp_verify_table_lock(void);
void bp_verify_table_unlock(void);
void bp_verify_table_after_fork(void);

#endif
