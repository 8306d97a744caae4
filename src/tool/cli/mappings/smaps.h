/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/smaps as a list: each mapping of a process with what of it is resident. The kernel
 * holds the lock of the process's mappings for reading, one mapping at a time, while it counts: the
 * program's page faults go on, an mmap of it waits for microseconds. Not thread-safe.
 */
#ifndef BP_CLI_MAPPINGS_SMAPS_H
#define BP_CLI_MAPPINGS_SMAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bp_smap {
	uint64_t start, end, inode;
	uint64_t resident_bytes, swapped_bytes;
	bool readable, writable, executable, shared;
	bool no_huge, wipe_on_fork; /* advice that the program gave */
	char *name;		    /* owned; "": anonymous; as /proc writes it */
};

struct bp_smaps {
	struct bp_smap *items; /* addresses ascend */
	uint32_t count, capacity;
};

/* More mappings than that are not looked at: the kernel allows 65,530 unless told otherwise. */
#define BP_SMAPS_MAX 65536u

/* False: it cannot be read, the process has ended or has no memory, or it has more mappings. */
bool bp_smaps_read(pid_t pid, struct bp_smaps *ret_smaps);
void bp_smaps_finish(struct bp_smaps *smaps);

/* Is it private memory of no file, readable and writable? */
static inline bool bp_smap_is_anonymous(const struct bp_smap *map)
{
	return map->inode == 0 && !map->shared && *map->name == '\0' && map->readable &&
	       map->writable;
}

#endif
