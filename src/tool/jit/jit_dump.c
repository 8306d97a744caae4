/* SPDX-License-Identifier: MIT */
/* See jit_dump.h. Numbers have the byte order of the machine that wrote them. */
#include "jit/jit_dump.h"

#include <stdlib.h>
#include <string.h>

#include "base/index.h"
#include "base/vec.h"

#define MAGIC 0x4A695444u
#define VERSION 1u
#define FLAG_ARCH_TIME 1u /* times are the processor's, not the clock's */

enum record_id { CODE_LOAD = 0, CODE_MOVE = 1 };

struct head {
	uint32_t magic, version, total_size, machine, pad, pid;
	uint64_t time_ns, flags;
};
struct record {
	uint32_t id, total_size;
	uint64_t time_ns;
};
struct load {
	uint32_t pid, tid;
	uint64_t vma, address, bytes, index; /* a terminated name and the code follow */
};
struct move {
	uint32_t pid, tid;
	uint64_t vma, from, to, bytes, index;
};

/* Code that was loaded, by its index: CODE_MOVE names it by that. */
struct loaded {
	uint64_t index;
	uint32_t text;
};

struct dump {
	FILE *in;
	struct bp_jit_names *names;
	struct bp_error *error;
	bool timed;
	struct loaded *loaded;
	uint32_t loaded_count, loaded_capacity;
	struct bp_index by_index;
};

static struct bp_index_keys keys_of(const struct dump *dump)
{
	return (struct bp_index_keys){ dump->loaded, sizeof *dump->loaded };
}

static bool note_loaded(struct dump *dump, uint64_t index, uint32_t text)
{
	const uint32_t found = bp_index_find(&dump->by_index, keys_of(dump), index);
	if (found != BP_INDEX_NONE) {
		dump->loaded[found].text = text;
		return true;
	}
	if (!bp_vec_reserve(&dump->loaded, &dump->loaded_capacity, (uint64_t)dump->loaded_count + 1,
		    sizeof *dump->loaded))
		return bp_error_set(dump->error, "out of memory while reading names of code");
	dump->loaded[dump->loaded_count] = (struct loaded){ index, text };
	if (!bp_index_add(&dump->by_index, keys_of(dump), dump->loaded_count))
		return bp_error_set(dump->error, "out of memory while reading names of code");
	dump->loaded_count++;
	return true;
}

static uint64_t time_of(const struct dump *dump, const struct record *record)
{
	return dump->timed ? record->time_ns : 0;
}

/* `ret_left`: bytes of the record that were not read. */
static bool add_load(struct dump *dump, const struct record *record, uint64_t *ret_left)
{
	struct load load;
	char name[BP_JIT_NAME_BYTES];
	if (*ret_left < sizeof load || fread(&load, sizeof load, 1, dump->in) != 1)
		return true;
	*ret_left -= sizeof load;
	const size_t bytes =
		fread(name, 1, *ret_left < sizeof name ? (size_t)*ret_left : sizeof name, dump->in);
	*ret_left -= bytes;
	const struct bp_jit_name range = {
		.start = load.address, .bytes = load.bytes, .time_ns = time_of(dump, record)
	};
	const uint32_t count = dump->names->count;
	if (!bp_jit_names_add(dump->names, &range, name, strnlen(name, bytes), dump->error))
		return false;
	return dump->names->count == count ||
	       note_loaded(dump, load.index, dump->names->items[count].text);
}

static bool add_move(struct dump *dump, const struct record *record, uint64_t *ret_left)
{
	struct move move;
	char name[BP_JIT_NAME_BYTES];
	if (*ret_left < sizeof move || fread(&move, sizeof move, 1, dump->in) != 1)
		return true;
	*ret_left -= sizeof move;
	const uint32_t found = bp_index_find(&dump->by_index, keys_of(dump), move.index);
	if (found == BP_INDEX_NONE)
		return true;
	/* Copied, because the texts may move when one is added. */
	strcpy(name, dump->names->texts + dump->loaded[found].text);
	const struct bp_jit_name range = {
		.start = move.to, .bytes = move.bytes, .time_ns = time_of(dump, record)
	};
	return bp_jit_names_add(dump->names, &range, name, strlen(name), dump->error);
}

static bool add_records(struct dump *dump)
{
	struct record record;
	while (dump->names->count < BP_JIT_NAMES_MAX &&
		fread(&record, sizeof record, 1, dump->in) == 1) {
		if (record.total_size < sizeof record)
			return true; /* torn */
		uint64_t left = record.total_size - sizeof record;
		if (record.id == CODE_LOAD && !add_load(dump, &record, &left))
			return false;
		if (record.id == CODE_MOVE && !add_move(dump, &record, &left))
			return false;
		if (left > 0 && fseeko(dump->in, (off_t)left, SEEK_CUR) != 0)
			return true;
	}
	return true;
}

bool bp_jit_dump_read(FILE *in, uint32_t pid, uint64_t from_ns, struct bp_jit_names *names,
	struct bp_error *error)
{
	struct dump dump = { .in = in, .names = names, .error = error };
	struct head head;
	if (fread(&head, sizeof head, 1, in) != 1 || head.magic != MAGIC ||
		head.version != VERSION || head.pid != pid || head.total_size < sizeof head ||
		fseeko(in, (off_t)head.total_size, SEEK_SET) != 0)
		return true;
	dump.timed = (head.flags & FLAG_ARCH_TIME) == 0;
	if (dump.timed && head.time_ns < from_ns)
		return true;
	const bool good = add_records(&dump);
	free(dump.loaded);
	bp_index_finish(&dump.by_index);
	return good;
}
