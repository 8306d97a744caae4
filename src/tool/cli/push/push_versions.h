/* SPDX-License-Identifier: MIT */
/*
 * Runs that go on, which `bytepoll push --running TIME` puts into a store as they are at the
 * moment, and again when they have gone on for that long (fleet/store.h says which version of a run
 * counts). One thread.
 */
#ifndef BP_CLI_PUSH_PUSH_VERSIONS_H
#define BP_CLI_PUSH_PUSH_VERSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "fleet/compact.h"

/* Zeroed memory is empty. */
struct bp_push_versions {
	uint64_t every_s; /* 0: runs that go on are left for later */
	/* When runs are due, seconds since 1970, so that the store is asked once. A run goes into
	 * one place by its id, and whatever was there is asked about again. */
	struct {
		char run[BP_STORE_RUN_BYTES];
		uint64_t unix_s;
	} * due;
	bool told; /* that earlier versions cannot be removed */
};

/* Now, in seconds since 1970. */
uint64_t bp_push_version_now(void);

/* When the run is due; `*ret_known` is false where the store is to be asked first. Errors:
 * memory. */
bool bp_push_version_due(struct bp_push_versions *versions, const char *run, bool *ret_known,
	uint64_t *ret_unix_s, struct bp_error *error);
/* The newest version in the store is of `unix_s`; 0: there is none. After bp_push_version_due. */
void bp_push_version_set(struct bp_push_versions *versions, const char *run, uint64_t unix_s);
void bp_push_versions_finish(struct bp_push_versions *versions);

/* The newest version of a run in the folder `store`, as seconds since 1970; 0: there is none. */
uint64_t bp_push_version_newest(const char *store, const char *run);
/* Removes versions in the folder `store` that have been void for a minute, so that whoever asks
 * meanwhile still finds what was there when the question began. What cannot be removed stays. */
void bp_push_versions_sweep(const char *store);

#endif
