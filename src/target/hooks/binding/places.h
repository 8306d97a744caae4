/* SPDX-License-Identifier: MIT */
/* A loaded object's relocations: the places that the loader fills, or will fill, with addresses of
 * functions. For the start alone, or where the loader's list of objects cannot change (late.h).
 * Private to hooks/. */
#ifndef BP_HOOKS_BINDING_PLACES_H
#define BP_HOOKS_BINDING_PLACES_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct bp_object {
	const struct link_map *map;
	const Elf64_Sym *symbols;
	const char *names;
	const uint32_t *hash; /* DT_GNU_HASH */
	const Elf64_Rela *tables[2];
	uint64_t bytes[2];
	uintptr_t start, end;		    /* of its mapping */
	uintptr_t sealed_start, sealed_end; /* whole pages made read-only */
};

/* Reads the object's tables. False: it has none of the kind, or they are not where they should
 * be. */
bool bp_object_read(const struct link_map *map, struct bp_object *ret_object);

/* Has the loader made the object's places read-only, if it will? Until then it is still filling
 * them, in another thread. */
bool bp_object_is_ready(const struct bp_object *object);

/* Stores an address at a place, in one store; a read-only page is opened for the moment. False: the
 * system does not allow it. */
bool bp_object_store(const struct bp_object *object, uintptr_t place, uintptr_t value);

#endif
