/* SPDX-License-Identifier: MIT */
/*
 * The dynamic symbol tables of loaded objects, read in place. The loader's own look-ups (dlsym) are
 * not used for the recorder's own purposes: a look-up that fails leaves a text for dlerror, which
 * is memory of the program and is freed by the program's free; and dlsym does not find a definition
 * whose version is not the default one, though a program's call reaches it.
 *
 * These functions call nothing of the C library, allocate nothing and take no lock. They walk the
 * loader's list of objects, so they are for the start, when no other thread loads or unloads
 * anything; a recorder that was opened late calls them where the list cannot change (late.h).
 * Private to hooks/.
 */
#ifndef BP_HOOKS_BINDING_SYMBOL_TABLE_H
#define BP_HOOKS_BINDING_SYMBOL_TABLE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bp_symbol_table {
	uintptr_t base;
	Elf64_Sym *symbols;
	const char *names;
	const uint32_t *gnu_hash; /* DT_GNU_HASH; NULL: there is none */
	const uint32_t *hash;	  /* DT_HASH; NULL: there is none */
	const uint16_t *versions; /* DT_VERSYM; NULL: there are none */
};

/* The tables of a loaded object. False: it has no symbols, or no hash table of them. */
bool bp_symbol_table_read(const struct link_map *map, struct bp_symbol_table *ret_table);

/* The address that an entry of a dynamic section stands for. */
void *bp_symbol_table_absolute(const struct link_map *map, uint64_t value);

/* The hash of a name in a DT_GNU_HASH. */
uint32_t bp_symbol_table_hash(const char *name);

/* Does the object define a function of that name, in any version? */
bool bp_symbol_table_defines(const struct link_map *map, const char *name);

/* A function that is looked for: its name, and the function pointer that gets its address. */
struct bp_wanted {
	const char *name;
	void *ret_function;
};

/* Was the recorder opened by a program that runs already (dlopen)? Then it stands behind the C
 * library in the loader's list, and the program's calls do not reach its hooks by themselves. The
 * first call, at the recorder's constructor, finds out. */
bool bp_symbol_table_is_late(void);

/* The loader's name for the recorder; NULL: not known. */
const struct link_map *bp_symbol_table_own_map(void);

/* Stores the address of the first definition of each wanted function: in the objects behind the
 * recorder, in the loader's order, which is the order of dlsym(RTLD_NEXT). Default versions come
 * first within an object; if it defines the name in other versions only, one of those counts. What
 * is not defined stays as it is. Of a recorder that was opened late all other objects count as
 * behind it, and functions whose address is computed (IFUNC) as not defined. Returns false if the
 * list of objects is not found. */
bool bp_symbol_table_find_behind(const struct bp_wanted wanted[], size_t count);

/* The address of a function or of data that the object defines, and its size; NULL: it defines
 * none. */
const void *bp_symbol_table_place(
	const struct link_map *map, const char *name, uint64_t *ret_bytes);

/* The first object, in the loader's order, that defines the function; NULL: none does. */
const struct link_map *bp_symbol_table_definer(const char *name);

/* The same in all objects: finds the functions that a call in the program reaches. */
bool bp_symbol_table_find_first(const struct bp_wanted wanted[], size_t count);

#endif
