/* SPDX-License-Identifier: MIT */
/*
 * FILE.d/packed as a part of a tree: its entries beside the files of FILE.d, and packing itself.
 * `run` packs while the program runs (folding.h); nobody else does.
 *
 * Packing: the traces of processes that have ended, and that nobody holds open any more, are
 * appended to FILE.d/packed, block by block; when a block is on the disk, their own files are
 * removed. Whoever is killed in between leaves traces that stand in both places: readers take the
 * file, and the next packing removes it.
 */
#ifndef BP_CLI_FILES_TREE_PACKED_H
#define BP_CLI_FILES_TREE_PACKED_H

#include "cli/files/tree.h"
#include "fold/pack.h"

/* For tree.c: adds the entries of FILE.d/packed that have no file. */
bool bp_tree_add_packed(struct bp_tree *tree, struct bp_error *error);
/* For tree_packed.c: takes over what `file` points to. */
bool bp_tree_add(struct bp_tree *tree, const struct bp_tree_file *file, struct bp_error *error);
/* Opens a folder; a link is not followed. NULL: it is none. */
DIR *bp_tree_open_folder(const char *path);

/* Opens FILE.d/packed; no entries if there is none. */
bool bp_tree_open_pack(
	const struct bp_tree *tree, struct bp_pack *ret_pack, struct bp_error *error);

/* What is packed, and the packed file from one call to the next. */
struct bp_tree_packing {
	bool only_empty; /* only traces that hold no sample and no loss */
	size_t at_least; /* pack nothing while fewer traces could be */
	pid_t spared;	 /* the process whose end its trace is yet to be told (bp_tree_note_end) */
	/* Private. */
	struct bp_pack_output output;
	bool is_open;
};

/* Packs files of a tree that was read by bp_tree_read_files. Where FILE.d is not ours, nothing is.
 * An error costs nothing but the room. */
bool bp_tree_pack(
	struct bp_tree_packing *packing, const struct bp_tree *tree, struct bp_error *error);

#endif
