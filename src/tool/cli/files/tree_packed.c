/* SPDX-License-Identifier: MIT */
/* The entries of FILE.d/packed as files of a tree. See tree_packed.h. */
#include "cli/files/tree_packed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/index.h"
#include "base/vec.h"

/* Trace ids that were met: they are random, so that half of one is enough to know it by. */
struct known {
	uint64_t *ids;
	uint32_t count, capacity;
	struct bp_index index;
};

static uint64_t id_of(const struct bp_trace_header *header)
{
	uint64_t id;
	memcpy(&id, header->trace_id, sizeof id);
	return id;
}

/* Adds an id; `*ret_new`: it was not there. False: no memory. */
static bool meet(struct known *known, const struct bp_trace_header *header, bool *ret_new)
{
	const uint64_t id = id_of(header);
	if (bp_index_find(&known->index, (struct bp_index_keys){ known->ids, sizeof *known->ids },
		    id) != BP_INDEX_NONE) {
		*ret_new = false;
		return true;
	}
	*ret_new = true;
	if (!bp_vec_reserve(
		    &known->ids, &known->capacity, known->count + (uint64_t)1, sizeof *known->ids))
		return false;
	known->ids[known->count++] = id;
	return bp_index_add(&known->index, (struct bp_index_keys){ known->ids, sizeof *known->ids },
		known->count - 1);
}

bool bp_tree_open_pack(const struct bp_tree *tree, struct bp_pack *ret_pack, struct bp_error *error)
{
	char path[PATH_MAX + sizeof BP_PACK_NAME];
	*ret_pack = (struct bp_pack){ .fd = -1, .expanded = { -1, -1 } };
	if (tree->folder == NULL)
		return true;
	snprintf(path, sizeof path, "%s/" BP_PACK_NAME, tree->directory);
	const struct bp_place place = { dirfd(tree->folder), path };
	return bp_pack_open(ret_pack, &place, error);
}

/* The program of the header, which stands in the first piece. */
static char *program_of(const struct bp_pack_entry *entry)
{
	const size_t before = sizeof(struct bp_pack_piece) + sizeof entry->header;
	size_t length = entry->header.program_length < 511 ? entry->header.program_length : 511;
	if (entry->pieces_bytes < before)
		return strdup("");
	if (length > entry->pieces_bytes - before)
		length = entry->pieces_bytes - before;
	return strndup((const char *)entry->pieces + before, length);
}

static bool add_entry(struct bp_tree *tree, const struct bp_pack_entry *entry, uint64_t number,
	struct bp_error *error)
{
	struct bp_tree_file file = { .header = entry->header,
		.state = entry->state,
		.bytes = entry->file_bytes,
		.packed = true,
		.packed_number = number };
	if (asprintf(&file.path, "%s/%s", tree->directory, entry->name) < 0)
		return bp_error_set(error, "out of memory");
	file.name = bp_last_part(file.path);
	file.program = program_of(entry);
	for (int reason = 0; reason < BP_LOSS_MAX; reason++)
		file.keeps_notes |= file.state.lost[reason] != 0;
	if (file.program != NULL && bp_tree_add(tree, &file, error))
		return true;
	free(file.path);
	free(file.program);
	return bp_error_set(error, "out of memory");
}

static bool is_trace_of_ours(const struct bp_trace_header *header)
{
	return memcmp(header->magic, BP_TRACE_MAGIC, sizeof header->magic) == 0 &&
	       header->version_major == BP_TRACE_MAJOR && header->chunk_bytes == BP_CHUNK_BYTES;
}

static bool add_entries(
	struct bp_tree *tree, struct bp_pack *pack, struct known *known, struct bp_error *error)
{
	struct bp_error failure = { .text = "" };
	struct bp_pack_entry entry;
	bool is_new;
	for (size_t i = 0; i < tree->count; i++)
		if (!meet(known, &tree->files[i].header, &is_new))
			return bp_error_set(error, "out of memory");
	for (uint64_t number = 0; bp_pack_next(pack, &entry, &failure); number++) {
		tree->packed_entries = number + 1;
		if (!meet(known, &entry.header, &is_new))
			return bp_error_set(error, "out of memory");
		if (!is_trace_of_ours(&entry.header))
			tree->unreadable++;
		else if (is_new && !add_entry(tree, &entry, number, error))
			return false;
	}
	tree->unreadable += pack->damaged_blocks;
	return failure.text[0] == '\0' || bp_error_set(error, "%s", failure.text);
}

bool bp_tree_add_packed(struct bp_tree *tree, struct bp_error *error)
{
	struct known known = { 0 };
	struct bp_pack pack;
	struct stat status;
	if (!bp_tree_open_pack(tree, &pack, NULL)) {
		tree->unreadable++;
		return true;
	}
	if (pack.fd >= 0 && fstat(pack.fd, &status) == 0)
		tree->packed_bytes = (uint64_t)status.st_blocks * 512;
	const bool good = pack.fd < 0 || add_entries(tree, &pack, &known, error);
	free(known.ids);
	bp_index_finish(&known.index);
	bp_pack_close(&pack);
	return good;
}
