/* SPDX-License-Identifier: MIT */
/*
 * Reading for folding. The reader of trace/ hands records out one by one and hides the chunks; here
 * a chunk is the unit, since whole chunks are given back. A chunk can be given back if it is
 * sealed, its checksum is right and all of it can be read: so damage stays where it was and goes on
 * being counted. It is decoded twice, first to see whether it can be read to its end.
 *
 * Records that refer to nothing before them in their chunk (all but SAMPLE and FREE) are kept byte
 * by byte, those of a kind not known here too; of stacks and modules with the same id the first.
 */
#include "fold/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

/* One chunk, as it was read. */
struct chunk {
	struct bp_chunk_header header;
	uint8_t payload[BP_PAYLOAD_BYTES + BP_TRACE_SLACK];
	uint32_t bytes;
	bool ours;
};

struct gather {
	struct bp_gathered *gathered;
	struct bp_trace_decoder decoder;
	struct chunk chunk;
	bool of_part;
	const char *path;
	struct bp_error *error;
};

static bool no_memory(const struct gather *gather)
{
	return bp_error_set(gather->error,
		"%s: out of memory while folding: fold more often, or record with a larger "
		"interval",
		gather->path);
}

static bool read_at(int fd, void *data, size_t bytes, uint64_t offset, size_t *ret_got)
{
	size_t done = 0;
	while (done < bytes) {
		const ssize_t got =
			pread(fd, (char *)data + done, bytes - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	memset((char *)data + done, 0, bytes - done);
	*ret_got = done;
	return true;
}

/* Adds an id; `*ret_new`: it was not there. False: no memory. */
static bool meet(struct bp_fold_ids *ids, uint64_t id, bool *ret_new)
{
	if (bp_index_find(&ids->index, (struct bp_index_keys){ ids->ids, sizeof *ids->ids }, id) !=
		BP_INDEX_NONE) {
		*ret_new = false;
		return true;
	}
	if (!bp_vec_reserve(&ids->ids, &ids->capacity, ids->count + 1u, sizeof *ids->ids))
		return false;
	ids->ids[ids->count] = id;
	if (!bp_index_add(
		    &ids->index, (struct bp_index_keys){ ids->ids, sizeof *ids->ids }, ids->count))
		return false;
	ids->count++;
	*ret_new = true;
	return true;
}

static struct bp_index_keys sequence_keys(const struct bp_gathered *gathered)
{
	const struct bp_fold_item *items = gathered->items;
	return (struct bp_index_keys){ items == NULL ? NULL : &items->sample.sequence,
		sizeof *items };
}

static void note_time(struct gather *gather, uint64_t time_ns)
{
	struct bp_gathered *gathered = gather->gathered;
	if (time_ns > gathered->last_ns)
		gathered->last_ns = time_ns;
	if (gather->chunk.ours && time_ns > gathered->last_ours_ns)
		gathered->last_ours_ns = time_ns;
}

static bool add_reading(
	struct gather *gather, uint32_t thread, const struct bp_trace_reading *reading)
{
	struct bp_gathered *gathered = gather->gathered;
	if (!gather->chunk.ours || thread == 0)
		return true;
	if (!bp_vec_reserve(&gathered->readings, &gathered->reading_capacity,
		    gathered->reading_count + 1u, sizeof *gathered->readings))
		return no_memory(gather);
	gathered->readings[gathered->reading_count++] = (struct bp_fold_reading){
		.time_ns = reading->time_ns,
		.trials = reading->trials,
		.objects = reading->objects,
		.thread = thread,
	};
	return true;
}

/* A second sample with the same sequence number is left out, as the importer does. */
static bool add_sample(struct gather *gather, const struct bp_trace_sample *sample)
{
	struct bp_gathered *gathered = gather->gathered;
	const struct bp_trace_reading reading = { sample->time_ns, sample->trials,
		sample->objects };
	note_time(gather, sample->time_ns);
	if (bp_index_find(&gathered->by_sequence, sequence_keys(gathered), sample->sequence) !=
		BP_INDEX_NONE)
		return true;
	if (!bp_vec_reserve(&gathered->items, &gathered->item_capacity, gathered->item_count + 1u,
		    sizeof *gathered->items))
		return no_memory(gather);
	gathered->items[gathered->item_count] = (struct bp_fold_item){
		.sample = *sample, .freed_by = BP_FOLD_NONE, .ours = gather->chunk.ours
	};
	if (!bp_index_add(&gathered->by_sequence, sequence_keys(gathered), gathered->item_count))
		return no_memory(gather);
	gathered->item_count++;
	return add_reading(gather, sample->thread, &reading);
}

static bool add_free(struct gather *gather, const struct bp_trace_free *record)
{
	struct bp_gathered *gathered = gather->gathered;
	const struct bp_trace_reading reading = { record->time_ns, record->trials,
		record->objects };
	note_time(gather, record->time_ns);
	if (!bp_vec_reserve(&gathered->frees, &gathered->free_capacity, gathered->free_count + 1u,
		    sizeof *gathered->frees))
		return no_memory(gather);
	gathered->frees[gathered->free_count++] =
		(struct bp_fold_free){ .record = *record, .ours = gather->chunk.ours };
	return add_reading(gather, record->thread, &reading);
}

static bool add_groups(struct gather *gather, const struct bp_trace_folded *folded)
{
	struct bp_gathered *gathered = gather->gathered;
	struct bp_trace_folded walk = *folded;
	struct bp_trace_folded_entry entry;
	if (folded->tick_end > gathered->clock.count)
		return bp_error_set(gather->error,
			"%s" BP_FOLDED_SUFFIX ": is damaged: nothing was folded", gather->path);
	while (bp_trace_folded_next(&walk, &entry)) {
		if (!bp_vec_reserve(&gathered->groups, &gathered->group_capacity,
			    gathered->group_count + 1u, sizeof *gathered->groups))
			return no_memory(gather);
		gathered->groups[gathered->group_count++] =
			(struct bp_fold_group){ .key = *folded, .entry = entry };
	}
	return true;
}

static bool add_readings(struct gather *gather, const struct bp_trace_readings *readings)
{
	struct bp_trace_readings walk = *readings;
	struct bp_trace_reading reading;
	while (bp_trace_readings_next(&walk, &reading))
		if (!add_reading(gather, readings->thread, &reading))
			return false;
	return true;
}

static bool added(const struct gather *gather, enum bp_trace_added added)
{
	if (added == BP_TRACE_ADD_NO_MEMORY)
		return no_memory(gather);
	return added == BP_TRACE_ADDED ||
	       bp_error_set(gather->error, "%s" BP_FOLDED_SUFFIX ": is damaged: nothing was folded",
		       gather->path);
}

static bool keep_raw(struct gather *gather, const uint8_t *data, size_t bytes)
{
	struct bp_gathered *gathered = gather->gathered;
	if (!gather->chunk.ours)
		return true;
	if (!bp_vec_reserve(&gathered->raw, &gathered->raw_capacity,
		    (uint64_t)gathered->raw_bytes + bytes, 1))
		return no_memory(gather);
	memcpy(gathered->raw + gathered->raw_bytes, data, bytes);
	gathered->raw_bytes += (uint32_t)bytes;
	return true;
}

/* Keeps a STACK or MODULE if it is the first with its id. */
static bool keep_first(struct gather *gather, struct bp_fold_ids *ids, uint32_t id,
	const uint8_t *data, size_t bytes)
{
	bool is_new = true;
	if (!gather->chunk.ours)
		return true;
	if (!meet(ids, id, &is_new))
		return no_memory(gather);
	return !is_new || keep_raw(gather, data, bytes);
}

/* A record that lies at `data`. Those of folded parts mean nothing elsewhere. */
static bool add_record(struct gather *gather, const struct bp_trace_record *record,
	const uint8_t *data, size_t bytes)
{
	struct bp_gathered *gathered = gather->gathered;
	if (record->tag >= BP_TAG_FOLDED && record->tag <= BP_TAG_HELD && !gather->of_part)
		return true;
	switch (record->tag) {
	case BP_TAG_SAMPLE:
		return add_sample(gather, &record->sample);
	case BP_TAG_FREE:
		return add_free(gather, &record->free);
	case BP_TAG_STACK:
	case BP_TAG_NAMED_STACK:
	case BP_TAG_MIXED_STACK:
		return keep_first(gather, &gathered->stacks, record->stack.id, data, bytes);
	case BP_TAG_MODULE:
		return keep_first(gather, &gathered->modules, record->module.id, data, bytes);
	case BP_TAG_FOLDED:
		return add_groups(gather, &record->folded);
	case BP_TAG_READINGS:
		return add_readings(gather, &record->readings);
	case BP_TAG_TICKS:
		return added(gather, bp_trace_clock_add(&gathered->clock, &record->ticks));
	case BP_TAG_HELD:
		return added(gather, bp_trace_held_add(&gathered->held, &record->ranges));
	default:
		return keep_raw(gather, data, bytes);
	}
}

static void start_decoding(struct gather *gather)
{
	const struct bp_chunk_header *header = &gather->chunk.header;
	struct bp_trace_decoder *decoder = &gather->decoder;
	decoder->payload = bp_bytes_of(gather->chunk.payload, gather->chunk.bytes);
	decoder->time_ns = header->base_time_ns;
	decoder->sequence = header->base_sequence;
	decoder->address = decoder->trials = decoder->objects = 0;
	decoder->thread = 0;
	decoder->interval = header->interval_bytes;
	decoder->law = header->law;
}

/* Can the chunk be read to its end? */
static bool is_whole(struct gather *gather)
{
	struct bp_trace_record record;
	start_decoding(gather);
	while (bp_bytes_left(&gather->decoder.payload) != 0) {
		const enum bp_trace_decoded decoded = bp_trace_decode(&gather->decoder, &record);
		if (decoded != BP_TRACE_DECODED && decoded != BP_TRACE_SKIPPED)
			return false;
	}
	return true;
}

static bool add_chunk(struct gather *gather)
{
	struct bp_trace_record record;
	start_decoding(gather);
	while (bp_bytes_left(&gather->decoder.payload) != 0) {
		const uint8_t *data = gather->decoder.payload.at;
		const enum bp_trace_decoded decoded = bp_trace_decode(&gather->decoder, &record);
		const size_t bytes = (size_t)(gather->decoder.payload.at - data);
		if (decoded == BP_TRACE_NO_MEMORY)
			return no_memory(gather);
		if (decoded == BP_TRACE_SKIPPED && !keep_raw(gather, data, bytes))
			return false;
		if (decoded == BP_TRACE_DECODED && !add_record(gather, &record, data, bytes))
			return false;
		if (decoded == BP_TRACE_FATAL || decoded == BP_TRACE_MALFORMED)
			return true;
	}
	return true;
}

/* Reads the chunk `number`. `*ret_there`: it holds records that can be read. */
static bool read_chunk(struct gather *gather, int fd, uint64_t number, bool *ret_there)
{
	struct chunk *chunk = &gather->chunk;
	struct bp_chunk_header *header = &chunk->header;
	const uint64_t offset = number * BP_CHUNK_BYTES;
	size_t got = 0;
	*ret_there = false;
	chunk->ours = false;
	if (!read_at(fd, header, sizeof *header, offset, &got))
		return false;
	if (header->magic != BP_CHUNK_MAGIC || header->number != number ||
		header->kind != BP_CHUNK_RECORDS || header->committed > BP_PAYLOAD_BYTES ||
		header->law > BP_LAW_BERNOULLI)
		return true;
	if (!read_at(fd, chunk->payload, header->committed, offset + sizeof *header, &got))
		return false;
	chunk->bytes = (uint32_t)got;
	if (header->sealed) {
		if (got < header->committed ||
			bp_checksum(chunk->payload, header->committed) != header->checksum)
			return true;
		chunk->ours = true;
	}
	*ret_there = true;
	return true;
}

static bool cannot_read(const struct gather *gather)
{
	return bp_error_set(gather->error, "%s%s: cannot be read: %s", gather->path,
		gather->of_part ? BP_FOLDED_SUFFIX : "", strerror(errno));
}

/* The first chunk from `number` on that may hold anything. */
static uint64_t skip_hole(int fd, uint64_t number, uint64_t end)
{
	const off_t data = lseek(fd, (off_t)(number * BP_CHUNK_BYTES), SEEK_DATA);
	if (data < 0)
		return errno == ENXIO ? end : number;
	return (uint64_t)data / BP_CHUNK_BYTES;
}

static bool gather_part(struct gather *gather, int fd, uint64_t chunks)
{
	gather->of_part = true;
	for (uint64_t number = 1; number < chunks; number++) {
		bool there;
		if (!read_chunk(gather, fd, number, &there))
			return cannot_read(gather);
		if (!there || !gather->chunk.ours || !is_whole(gather))
			return bp_error_set(gather->error,
				"%s" BP_FOLDED_SUFFIX ": is damaged: nothing was folded",
				gather->path);
		if (!add_chunk(gather))
			return false;
	}
	gather->of_part = false;
	return true;
}

static bool gather_trace(struct gather *gather, int fd, uint64_t chunks, uint64_t keep)
{
	struct bp_gathered *gathered = gather->gathered;
	for (uint64_t number = skip_hole(fd, 1, chunks); number < chunks;
		number = skip_hole(fd, number + 1, chunks)) {
		bool there;
		if (bp_trace_held_has(&gathered->held, number))
			continue;
		if (!read_chunk(gather, fd, number, &there))
			return cannot_read(gather);
		if (!there)
			continue;
		gather->chunk.ours =
			gather->chunk.ours && number + keep < chunks && is_whole(gather);
		if (gather->chunk.ours) {
			if (!bp_vec_reserve(&gathered->chunks, &gathered->chunk_capacity,
				    gathered->chunk_count + 1u, sizeof *gathered->chunks))
				return no_memory(gather);
			gathered->chunks[gathered->chunk_count++] = number;
		}
		if (!add_chunk(gather))
			return false;
	}
	return true;
}

/* Of several frees of a sample the first in the order of the files holds, as for the importer. */
static void join(struct bp_gathered *gathered)
{
	for (uint32_t i = 0; i < gathered->free_count; i++) {
		const struct bp_trace_free *record = &gathered->frees[i].record;
		const uint32_t found = bp_index_find(
			&gathered->by_sequence, sequence_keys(gathered), record->sample_sequence);
		if (found == BP_INDEX_NONE || gathered->items[found].freed_by != BP_FOLD_NONE ||
			record->sequence <= record->sample_sequence)
			continue;
		gathered->items[found].freed_by = i;
	}
}

static bool chunks_of(const struct gather *gather, int fd, uint64_t *ret_chunks)
{
	struct stat status;
	if (fstat(fd, &status) != 0)
		return cannot_read(gather);
	*ret_chunks = ((uint64_t)status.st_size + BP_CHUNK_BYTES - 1) / BP_CHUNK_BYTES;
	return true;
}

bool bp_fold_gather(struct bp_gathered *gathered, int fd, int part_fd, uint64_t keep_bytes,
	const char *path, struct bp_error *error)
{
	struct gather *gather = calloc(1, sizeof *gather);
	uint64_t chunks = 0, part_chunks = 0;
	size_t got;
	bool good = false;
	if (gather == NULL)
		return bp_error_set(error, "%s: out of memory", path);
	gather->gathered = gathered;
	gather->path = path;
	gather->error = error;
	if (!read_at(fd, &gathered->state, sizeof gathered->state, BP_STATE_OFFSET, &got)) {
		cannot_read(gather);
		goto done;
	}
	if (!chunks_of(gather, fd, &chunks) ||
		(part_fd >= 0 && !chunks_of(gather, part_fd, &part_chunks)))
		goto done;
	/* What was handed out, as far as the file goes: the rest is mapped ahead. */
	if (gathered->state.chunks_reserved < chunks)
		chunks = gathered->state.chunks_reserved;
	good = gather_part(gather, part_fd, part_chunks) &&
	       gather_trace(gather, fd, chunks, (keep_bytes + BP_CHUNK_BYTES - 1) / BP_CHUNK_BYTES);
	if (good)
		join(gathered);
done:
	free(gather->decoder.frames);
	free(gather);
	return good;
}

/* Do the two say the same? */
static bool same_held(const struct bp_trace_held *a, const struct bp_trace_held *b)
{
	bool same = a->count == b->count;
	for (uint32_t i = 0; same && i < a->count; i++)
		same = a->ranges[i].first == b->ranges[i].first &&
		       a->ranges[i].count == b->ranges[i].count;
	return same;
}

bool bp_fold_can_be_read(
	int part_fd, const struct bp_trace_held *held, const char *path, struct bp_error *error)
{
	struct bp_gathered gathered = { 0 };
	struct gather *gather = calloc(1, sizeof *gather);
	uint64_t chunks = 0;
	if (gather == NULL)
		return bp_error_set(error, "%s: out of memory", path);
	gather->gathered = &gathered;
	gather->path = path;
	const bool good = chunks_of(gather, part_fd, &chunks) &&
			  gather_part(gather, part_fd, chunks) && same_held(&gathered.held, held);
	free(gather->decoder.frames);
	free(gather);
	bp_fold_gathered_finish(&gathered);
	return good || bp_error_set(error,
			       "%s: its folded part does not come out as it should: nothing was "
			       "folded",
			       path);
}

static void finish_ids(struct bp_fold_ids *ids)
{
	free(ids->ids);
	bp_index_finish(&ids->index);
}

void bp_fold_gathered_finish(struct bp_gathered *gathered)
{
	free(gathered->items);
	free(gathered->frees);
	free(gathered->groups);
	free(gathered->readings);
	free(gathered->raw);
	free(gathered->chunks);
	bp_trace_clock_finish(&gathered->clock);
	bp_trace_held_finish(&gathered->held);
	finish_ids(&gathered->stacks);
	finish_ids(&gathered->modules);
	bp_index_finish(&gathered->by_sequence);
	memset(gathered, 0, sizeof *gathered);
}
