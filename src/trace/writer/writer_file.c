/* SPDX-License-Identifier: MIT */
/*
 * The file under the writer: creating it, mapping it ahead in mappings, handing out chunks.
 *
 * A store to a shared page that has no disk behind it raises SIGBUS in the program, so no page is
 * touched before MADV_POPULATE_WRITE has made it present, which reports a full disk instead of
 * raising. Kernels before 5.14 do not know it: there the disk of a whole (smaller) mapping is
 * reserved by fallocate when the file is opened. RLIMIT_FSIZE is read before any sizing, because
 * exceeding it raises SIGXFSZ; storing through a mapping is not subject to it.
 *
 * No descriptor is kept: to grow, the file is opened again by name and its device and inode are
 * compared. When that fails (chroot, dropped privileges, renamed) that is counted, and what follows
 * is an outage (writer_outage.c), as a full disk is. The one hole: a third party that truncates the
 * mapped file.
 *
 * Chunk 0 stays mapped for good. A mapping goes when its last open chunk is closed and a newer
 * mapping exists; the pages of a closed chunk are dropped at once, so that a long trace does not
 * make the program look larger.
 */
#include "trace/writer/writer_file.h"

#include <sys/stat.h>

#include "base/system_call.h"

#define MAPPING_BYTES (64u << 20)
#define MAPPING_BYTES_PREALLOCATED (4u << 20)
#define MAPPING_BYTES_MIN (4 * BP_CHUNK_BYTES)
/* Of the slots in chunk 0 so many bytes are made present at a time. */
#define SLOTS_PAGE_BYTES 4096u
/* Chunks kept mapped ahead by bp_writer_trim. */
#define TRIM_KEEP_CHUNKS 4

void bp_writer_lost(struct bp_writer *writer, enum bp_loss reason)
{
	if (writer->head != NULL)
		__atomic_fetch_add(&bp_writer_state(writer)->lost[reason], 1, __ATOMIC_RELAXED);
}

static uint64_t resource_limit(int resource)
{
	struct rlimit64 {
		uint64_t current, maximum;
	} limit;
	if (syscall(SYS_prlimit64, 0, resource, NULL, &limit) != 0)
		return UINT64_MAX;
	return limit.current;
}

/* How many bytes to map ahead: less where the address space or the disk must be paid for. */
static uint32_t mapping_bytes(const struct bp_writer *writer)
{
	uint64_t bytes = writer->preallocate ? MAPPING_BYTES_PREALLOCATED : MAPPING_BYTES;
	uint64_t share = resource_limit(RLIMIT_AS) / 64;
	if (bytes > share)
		bytes = share & ~(uint64_t)(BP_CHUNK_BYTES - 1);
	return (uint32_t)(bytes < MAPPING_BYTES_MIN ? MAPPING_BYTES_MIN : bytes);
}

static void *map_file(int descriptor, uint64_t offset, size_t bytes)
{
	void *memory = bp_system_map(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, offset);
	if (memory != NULL) {
		(void)bp_system_advise(memory, bytes, MADV_DONTFORK);
		/* Pages of a hole: there is nothing to read ahead. */
		(void)bp_system_advise(memory, bytes, MADV_RANDOM);
	}
	return memory;
}

static bool reserve_disk(int descriptor, uint64_t offset, uint64_t bytes)
{
	if (syscall(SYS_fallocate, descriptor, 0, offset, bytes) == 0)
		return true;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return false;
	/* A file system that cannot reserve: write zeros. */
	static const uint8_t zeros[4096];
	for (uint64_t done = 0; done < bytes; done += sizeof zeros)
		if (syscall(SYS_pwrite64, descriptor, zeros, sizeof zeros, offset + done) !=
			(long)sizeof zeros)
			return false;
	return true;
}

/* Sizes the file for chunks [first, first + *chunks) and maps them; fewer where limits say so. */
static bool map_chunks(struct bp_writer *writer, int descriptor, struct bp_mapping *mapping,
	uint64_t first, uint32_t chunks)
{
	const uint64_t limit = resource_limit(RLIMIT_FSIZE) / BP_CHUNK_BYTES;
	if (first >= limit)
		return false;
	if (chunks > limit - first)
		chunks = (uint32_t)(limit - first);
	while (chunks > 0) {
		uint64_t offset = first * BP_CHUNK_BYTES;
		uint64_t bytes = (uint64_t)chunks * BP_CHUNK_BYTES;
		if (syscall(SYS_ftruncate, descriptor, offset + bytes) == 0 &&
			(!writer->preallocate || reserve_disk(descriptor, offset, bytes))) {
			mapping->memory = map_file(descriptor, offset, bytes);
			if (mapping->memory != NULL) {
				mapping->first_chunk = first;
				mapping->chunks = chunks;
				mapping->users = 0;
				return true;
			}
		}
		chunks /= 2;
	}
	return false;
}

static void unmap_chunks(struct bp_mapping *mapping)
{
	bp_system_unmap(mapping->memory, (size_t)mapping->chunks * BP_CHUNK_BYTES);
	mapping->memory = NULL;
}

/* grow_lock held. Maps a mapping after the newest one, the file opened by name for the moment. */
static bool grow(struct bp_writer *writer)
{
	struct bp_mapping *mapping = NULL;
	for (int i = 0; i < BP_MAPPINGS; i++)
		if (writer->mappings[i].memory == NULL)
			mapping = &writer->mappings[i];
	if (mapping == NULL)
		return false;
	const int descriptor =
		writer->files_forbidden ? -1 : bp_system_open(writer->path, O_RDWR | O_NOFOLLOW, 0);
	if (descriptor < 0) {
		if (bp_writer_outage_since(writer) == 0)
			bp_writer_lost(writer, BP_LOSS_TRACE_REOPEN);
		return false;
	}
	struct stat status;
	bool grown = syscall(SYS_fstat, descriptor, &status) == 0 &&
		     status.st_dev == writer->device && status.st_ino == writer->inode &&
		     map_chunks(writer, descriptor, mapping, writer->chunks,
			     writer->mapping_bytes / BP_CHUNK_BYTES);
	bp_system_close(descriptor);
	if (!grown)
		return false;
	struct bp_mapping *old = writer->newest;
	writer->newest = mapping;
	if (old != NULL && old->users == 0)
		unmap_chunks(old);
	return true;
}

bool bp_writer_populate(const struct bp_writer *writer, uint8_t *memory, size_t bytes)
{
	const uintptr_t start = bp_system_page_of((uintptr_t)memory);
	return writer->preallocate ||
	       bp_system_advise(
		       (void *)start, (uintptr_t)memory + bytes - start, BP_ADVICE_POPULATE_WRITE);
}

uint8_t *bp_writer_hand_out(struct bp_writer *writer)
{
	struct bp_mapping *mapping = writer->newest;
	if ((mapping == NULL || writer->chunks >= mapping->first_chunk + mapping->chunks) &&
		!grow(writer))
		return NULL;
	mapping = writer->newest;
	uint8_t *chunk = mapping->memory + (writer->chunks - mapping->first_chunk) * BP_CHUNK_BYTES;
	mapping->users++;
	writer->chunks++;
	__atomic_store_n(
		&bp_writer_state(writer)->chunks_reserved, writer->chunks, __ATOMIC_RELAXED);
	return chunk;
}

void bp_writer_drop_chunk(
	struct bp_writer *writer, struct bp_mapping *mapping, struct bp_chunk_header *chunk)
{
	(void)bp_system_advise(chunk, BP_CHUNK_BYTES, MADV_DONTNEED);
	bp_lock_take(&writer->grow_lock);
	if (--mapping->users == 0 && mapping != writer->newest)
		unmap_chunks(mapping);
	bp_lock_release(&writer->grow_lock);
}

static void close_chunk(struct bp_writer *writer, struct bp_lane *lane)
{
	struct bp_chunk_header *chunk = lane->chunk;
	lane->chunk = NULL;
	if (chunk == NULL || lane->mapping == NULL)
		return;
	chunk->checksum = bp_checksum(chunk + 1, chunk->committed);
	__atomic_store_n(&chunk->sealed, 1, __ATOMIC_RELEASE);
	bp_writer_drop_chunk(writer, lane->mapping, chunk);
}

/* A chunk of the file, its first page present, which carries the header. That is not done under the
 * lock: other lanes would wait. A chunk without a header is passed over by readers. */
static uint8_t *new_file_chunk(
	struct bp_writer *writer, struct bp_mapping **ret_mapping, uint64_t *ret_number)
{
	bp_lock_take(&writer->grow_lock);
	*ret_number = writer->chunks;
	uint8_t *memory = bp_writer_hand_out(writer);
	*ret_mapping = writer->newest;
	bp_lock_release(&writer->grow_lock);
	if (memory == NULL || bp_writer_populate(writer, memory, bp_system_page_bytes()))
		return memory;
	bp_lock_take(&writer->grow_lock);
	bp_writer_keep_spare(writer, memory, *ret_mapping, *ret_number);
	bp_lock_release(&writer->grow_lock);
	return NULL;
}

bool bp_writer_new_chunk(struct bp_writer *writer, struct bp_lane *lane)
{
	uint64_t number;
	close_chunk(writer, lane);
	if (bp_writer_outage_since(writer) != 0)
		return bp_writer_hold_chunk(writer, lane);
	uint8_t *memory = new_file_chunk(writer, &lane->mapping, &number);
	if (memory == NULL) {
		bp_writer_outage_begin(writer);
		return bp_writer_hold_chunk(writer, lane);
	}
	lane->chunk = (struct bp_chunk_header *)memory;
	lane->ready_bytes = (uint32_t)bp_system_page_bytes();
	lane->chunk->kind = BP_CHUNK_RECORDS;
	lane->chunk->number = number;
	return true;
}

bool bp_writer_make_ready(struct bp_writer *writer, struct bp_lane *lane, uint32_t bytes)
{
	while (lane->ready_bytes < bytes) {
		/* Doubling: a short program pays for a page or two, a long one for few calls. */
		uint32_t step = lane->ready_bytes;
		if (lane->ready_bytes + step > BP_CHUNK_BYTES)
			step = BP_CHUNK_BYTES - lane->ready_bytes;
		if (!bp_writer_populate(writer, (uint8_t *)lane->chunk + lane->ready_bytes, step)) {
			bp_writer_outage_begin(writer);
			return false;
		}
		lane->ready_bytes += step;
	}
	return true;
}

/* A slot of chunk 0, made present page by page, each once. */
static struct bp_thread_slot *slot_of_head(struct bp_writer *writer)
{
	struct bp_thread_slot *slots = (struct bp_thread_slot *)(writer->head + BP_SLOTS_OFFSET);
	for (uint32_t i = 0; i < BP_SLOTS_IN_FIRST; i++) {
		struct bp_thread_slot *slot = &slots[(writer->slot_hint + i) % BP_SLOTS_IN_FIRST];
		const uint32_t end = (uint32_t)((uint8_t *)(slot + 1) - writer->head);
		if (end > writer->head_ready_bytes) {
			if (!bp_writer_populate(writer, (uint8_t *)slot, SLOTS_PAGE_BYTES))
				return NULL;
			writer->head_ready_bytes += SLOTS_PAGE_BYTES;
		}
		if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == 0) {
			writer->slot_hint = (uint32_t)(slot - slots);
			return slot;
		}
	}
	return NULL;
}

/* grow_lock held. A chunk of another kind than records: places of 64 bytes, present in memory as a
 * whole. Its mapping is never unmapped: users stays up. NULL: the file cannot grow. */
static void *new_chunk_of_places(struct bp_writer *writer, enum bp_chunk_kind kind)
{
	if (bp_writer_outage_since(writer) != 0)
		return NULL;
	const uint64_t number = writer->chunks;
	uint8_t *memory = bp_writer_hand_out(writer);
	if (memory != NULL && !bp_writer_populate(writer, memory, BP_CHUNK_BYTES)) {
		bp_writer_keep_spare(writer, memory, writer->newest, number);
		memory = NULL;
	}
	if (memory == NULL) {
		bp_writer_outage_begin(writer);
		return NULL;
	}
	struct bp_chunk_header *chunk = (struct bp_chunk_header *)memory;
	chunk->kind = kind;
	chunk->number = number;
	__atomic_store_n(&chunk->magic, BP_CHUNK_MAGIC, __ATOMIC_RELEASE);
	return chunk + 1;
}

/* A slot of the chunks added when chunk 0 is full: more than 896 threads at a time. */
static struct bp_thread_slot *slot_of_chunks(struct bp_writer *writer)
{
	if (writer->more_slots != NULL && writer->more_slots_used < BP_SLOTS_IN_CHUNK)
		return &writer->more_slots[writer->more_slots_used++];
	struct bp_thread_slot *slots = new_chunk_of_places(writer, BP_CHUNK_THREADS);
	if (slots == NULL)
		return NULL;
	writer->more_slots = slots;
	writer->more_slots_used = 1;
	return slots;
}

struct bp_trace_verify_sums *bp_writer_take_verify_chunk(struct bp_writer *writer)
{
	if (writer->head == NULL)
		return NULL;
	bp_lock_take(&writer->grow_lock);
	struct bp_trace_verify_sums *sums = new_chunk_of_places(writer, BP_CHUNK_VERIFY_SUMS);
	bp_lock_release(&writer->grow_lock);
	return sums;
}

struct bp_thread_slot *bp_writer_take_slot(struct bp_writer *writer)
{
	bp_lock_take(&writer->grow_lock);
	struct bp_thread_slot *slot = slot_of_head(writer);
	if (slot == NULL)
		slot = slot_of_chunks(writer);
	if (slot != NULL) {
		*slot = (struct bp_thread_slot){ 0 };
		__atomic_store_n(&slot->state, 1, __ATOMIC_RELEASE);
	}
	bp_lock_release(&writer->grow_lock);
	if (slot == NULL)
		bp_writer_lost(writer, BP_LOSS_THREAD_SLOT);
	return slot;
}

void bp_writer_trim(struct bp_writer *writer)
{
	bp_lock_take(&writer->grow_lock);
	struct bp_mapping *mapping = writer->newest;
	if (mapping != NULL) {
		uint64_t keep = writer->chunks + TRIM_KEEP_CHUNKS - mapping->first_chunk;
		if (keep < mapping->chunks) {
			bp_system_unmap(mapping->memory + keep * BP_CHUNK_BYTES,
				(size_t)(mapping->chunks - keep) * BP_CHUNK_BYTES);
			mapping->chunks = (uint32_t)keep;
		}
	}
	writer->mapping_bytes = MAPPING_BYTES_MIN;
	bp_lock_release(&writer->grow_lock);
}

static void write_header(
	struct bp_writer *writer, struct bp_trace_header *header, const char *strings)
{
	size_t length = (size_t)header->program_length + header->command_line_length +
			header->allocator_length + header->recorder_version_length;
	header->header_bytes = (uint32_t)(sizeof *header + length);
	__builtin_memcpy(writer->head + sizeof *header, strings, length);
	__builtin_memcpy(writer->head + BP_HEADER_CHECKED_FROM,
		(uint8_t *)header + BP_HEADER_CHECKED_FROM,
		sizeof *header - BP_HEADER_CHECKED_FROM);
	header->checksum = bp_checksum(writer->head + BP_HEADER_CHECKED_FROM,
		header->header_bytes - BP_HEADER_CHECKED_FROM);
	bp_writer_state(writer)->chunks_reserved = 1;
	__builtin_memcpy(writer->head, header, BP_HEADER_CHECKED_FROM);
}

/* Sizes the file for chunk 0 and `ahead` bytes of chunks behind it, and maps all of it at once. */
static bool map_start(struct bp_writer *writer, int descriptor, uint32_t ahead)
{
	const uint64_t bytes = (uint64_t)BP_CHUNK_BYTES + ahead;
	if (resource_limit(RLIMIT_FSIZE) < bytes || syscall(SYS_ftruncate, descriptor, bytes) != 0)
		return false;
	writer->head = map_file(descriptor, 0, bytes);
	if (writer->head == NULL)
		return false;
	if (ahead != 0) {
		writer->mappings[0] = (struct bp_mapping){ .memory = writer->head + BP_CHUNK_BYTES,
			.first_chunk = 1,
			.chunks = ahead / BP_CHUNK_BYTES };
		writer->newest = &writer->mappings[0];
	}
	return true;
}

static void unmap_ahead(struct bp_writer *writer)
{
	if (writer->newest != NULL)
		unmap_chunks(writer->newest);
	writer->newest = NULL;
}

/* Chunk 0 mapped and its first pages present, those of the header, the state and the first slots;
 * decides how disk is reserved from now on. Mapping ahead now lets a program chroot or drop its
 * privileges later. Where not all of that can be had at once, chunk 0 comes alone. */
static bool map_head(struct bp_writer *writer, int descriptor)
{
	writer->mapping_bytes = mapping_bytes(writer);
	if (!map_start(writer, descriptor, writer->mapping_bytes) &&
		!map_start(writer, descriptor, 0))
		return false;
	/* The state page alone (and what shares a larger page with it) is inherited by a forked
	 * child, which may have to tell its parent that it found no trace of its own. */
	const uintptr_t state = (uintptr_t)writer->head + BP_STATE_OFFSET;
	const uintptr_t page = bp_system_page_of(state);
	if (!bp_system_advise((void *)page, state + 4096 - page, MADV_DOFORK))
		return false;
	writer->head_ready_bytes = BP_SLOTS_OFFSET + SLOTS_PAGE_BYTES;
	if (bp_system_advise(writer->head, writer->head_ready_bytes, BP_ADVICE_POPULATE_WRITE))
		return true;
	writer->preallocate = errno == EINVAL || errno == ENOSYS || errno == EPERM;
	if (!writer->preallocate)
		return false;
	unmap_ahead(writer); /* it has to be reserved, and is less */
	writer->mapping_bytes = mapping_bytes(writer);
	return reserve_disk(descriptor, 0, BP_CHUNK_BYTES);
}

/* `name`: of the file, as seen from `folder`; `path`: under which it is opened again to grow. */
static bool open_new(struct bp_writer *writer, int folder, const char *name, const char *path,
	struct bp_trace_header *header, const char *strings)
{
	size_t length = __builtin_strlen(path);
	if (length >= sizeof writer->path)
		return false;
	int descriptor =
		bp_system_open_in(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (descriptor < 0)
		return false;
	struct stat status;
	bool opened = syscall(SYS_fstat, descriptor, &status) == 0 && map_head(writer, descriptor);
	if (opened) {
		__builtin_memcpy(writer->path, path, length + 1);
		writer->device = status.st_dev;
		writer->inode = status.st_ino;
		writer->chunks = 1;
		/* Failing is found again, and counted, when the first chunk is asked for. */
		if (writer->newest == NULL && map_chunks(writer, descriptor, &writer->mappings[0],
						      1, writer->mapping_bytes / BP_CHUNK_BYTES))
			writer->newest = &writer->mappings[0];
		write_header(writer, header, strings);
	} else {
		unmap_ahead(writer);
		if (writer->head != NULL)
			bp_system_unmap(writer->head, BP_CHUNK_BYTES);
		writer->head = NULL;
		(void)syscall(SYS_unlinkat, folder, name, 0);
		errno = ENOSPC;
	}
	bp_system_close(descriptor);
	return opened;
}

bool bp_writer_open(struct bp_writer *writer, const char *path, struct bp_trace_header *header,
	const char *strings)
{
	return open_new(writer, AT_FDCWD, path, path, header, strings);
}

bool bp_writer_open_in(struct bp_writer *writer, int folder, const char *path,
	struct bp_trace_header *header, const char *strings)
{
	const char *name = path;
	for (const char *at = path; *at != '\0'; at++)
		if (*at == '/')
			name = at + 1;
	return open_new(writer, folder, name, path, header, strings);
}

static void replace(void *memory, size_t bytes)
{
	if (memory != NULL)
		(void)syscall(SYS_mmap, memory, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

void bp_writer_replace_mappings(struct bp_writer *writer)
{
	replace(writer->head, BP_CHUNK_BYTES);
	for (int i = 0; i < BP_MAPPINGS; i++)
		replace(writer->mappings[i].memory,
			(size_t)writer->mappings[i].chunks * BP_CHUNK_BYTES);
	replace(writer->outage.memory, BP_HELD_BYTES);
	writer->outage.next_try_ns = UINT64_MAX;
	writer->stopped = true;
}

/* Cuts the file behind its last chunk, if it is still the same. */
static void cut_file(const struct bp_writer *writer)
{
	struct stat status;
	const int descriptor = bp_system_open(writer->path, O_RDWR | O_NOFOLLOW, 0);
	if (descriptor < 0)
		return;
	if (syscall(SYS_fstat, descriptor, &status) == 0 && status.st_dev == writer->device &&
		status.st_ino == writer->inode)
		(void)syscall(SYS_ftruncate, descriptor, writer->chunks * BP_CHUNK_BYTES);
	bp_system_close(descriptor);
}

void bp_writer_close(struct bp_writer *writer)
{
	if (writer->head == NULL)
		return;
	bp_writer_try_again(writer, UINT64_MAX);
	bp_writer_outage_finish(writer);
	for (int i = 0; i < BP_LANES; i++)
		close_chunk(writer, &writer->lanes[i]);
	for (int i = 0; i < BP_MAPPINGS; i++)
		if (writer->mappings[i].memory != NULL)
			unmap_chunks(&writer->mappings[i]);
	bp_system_unmap(writer->head, BP_CHUNK_BYTES);
	cut_file(writer);
	__builtin_memset(writer, 0, sizeof *writer);
}
