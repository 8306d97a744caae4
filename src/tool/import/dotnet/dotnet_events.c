/* SPDX-License-Identifier: MIT */
/* See dotnet_events.h. */
#include "import/dotnet/dotnet_events.h"

#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "import/dotnet/dotnet_text.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"
#define RUNDOWN "Microsoft-Windows-DotNETRuntimeRundown"
#define EVENT_PIPE "Microsoft-DotNETCore-EventPipe"

/* 143 and 144 mean load and unload to the runtime, and start and end to the rundown. */
static const struct {
	const char *provider;
	uint32_t event;
	enum bp_dotnet_event is;
} known[] = { { RUNTIME, 303, BP_DOTNET_SAMPLE }, { RUNTIME, 10, BP_DOTNET_TICK },
	{ RUNTIME, 143, BP_DOTNET_METHOD_LOAD }, { RUNTIME, 144, BP_DOTNET_METHOD_UNLOAD },
	{ RUNTIME, 152, BP_DOTNET_MODULE }, { RUNTIME, 159, BP_DOTNET_ENTRY_POINT },
	{ RUNDOWN, 143, BP_DOTNET_METHOD_RUNDOWN }, { RUNDOWN, 144, BP_DOTNET_METHOD_RUNDOWN },
	{ RUNDOWN, 153, BP_DOTNET_MODULE }, { RUNDOWN, 154, BP_DOTNET_MODULE },
	{ EVENT_PIPE, 1, BP_DOTNET_PROCESS_INFO }, { RUNTIME, 1, BP_DOTNET_GC_START },
	{ RUNTIME, 2, BP_DOTNET_GC_END }, { RUNTIME, 4, BP_DOTNET_HEAP_STATS },
	{ RUNTIME, 39, BP_DOTNET_GC_DYNAMIC } };

enum bp_dotnet_event bp_dotnet_event_of(const struct bp_nettrace_kind *kind)
{
	for (size_t i = 0; kind != NULL && i < BP_COUNT(known); i++)
		if (kind->event == known[i].event && strcmp(kind->provider, known[i].provider) == 0)
			return known[i].is;
	return BP_DOTNET_OTHER;
}

static uint64_t pointer(struct bp_bytes *bytes, uint32_t pointer_bytes)
{
	return pointer_bytes == 4 ? bp_bytes_u32(bytes) : bp_bytes_u64(bytes);
}

bool bp_dotnet_read_sample(
	struct bp_bytes payload, uint32_t pointer_bytes, struct bp_dotnet_sample *ret_sample)
{
	ret_sample->heap = bp_bytes_u32(&payload);
	(void)bp_bytes_u16(&payload); /* instance of the runtime */
	ret_sample->type = pointer(&payload, pointer_bytes);
	(void)bp_dotnet_text(&payload, ret_sample->name, sizeof ret_sample->name);
	ret_sample->address = pointer(&payload, pointer_bytes);
	ret_sample->size = bp_bytes_u64(&payload);
	ret_sample->offset = bp_bytes_u64(&payload);
	return !payload.failed;
}

/* Namespace and type, a dot, and the method's name. */
static void read_names(struct bp_bytes *payload, char *to)
{
	(void)bp_dotnet_text(payload, to, BP_DOTNET_NAME_BYTES);
	size_t length = strlen(to);
	if (length != 0 && length < BP_DOTNET_NAME_BYTES - 1)
		to[length++] = '.';
	(void)bp_dotnet_text(payload, to + length, BP_DOTNET_NAME_BYTES - length);
}

bool bp_dotnet_read_place(struct bp_bytes payload, struct bp_dotnet_method *ret_method)
{
	(void)bp_bytes_take(&payload, 16); /* method, module */
	ret_method->start = bp_bytes_u64(&payload);
	ret_method->bytes = bp_bytes_u32(&payload);
	return !payload.failed;
}

bool bp_dotnet_read_method(struct bp_bytes payload, struct bp_dotnet_method *ret_method)
{
	ret_method->method = bp_bytes_u64(&payload);
	ret_method->module = bp_bytes_u64(&payload);
	ret_method->start = bp_bytes_u64(&payload);
	ret_method->bytes = bp_bytes_u32(&payload);
	(void)bp_bytes_u64(&payload); /* token and flags */
	read_names(&payload, ret_method->name);
	return !payload.failed;
}

bool bp_dotnet_read_entry_point(struct bp_bytes payload, struct bp_dotnet_method *ret_method)
{
	ret_method->method = bp_bytes_u64(&payload);
	ret_method->module = 0;
	read_names(&payload, ret_method->name);
	(void)bp_dotnet_text(&payload, NULL, 0); /* signature */
	ret_method->start = bp_bytes_u64(&payload);
	ret_method->bytes = 0;
	return !payload.failed;
}

bool bp_dotnet_read_module(struct bp_bytes payload, struct bp_dotnet_module *ret_module)
{
	char native[BP_DOTNET_NAME_BYTES];
	ret_module->module = bp_bytes_u64(&payload);
	(void)bp_bytes_take(&payload, 16); /* assembly, flags */
	(void)bp_dotnet_text(&payload, ret_module->path, sizeof ret_module->path);
	(void)bp_dotnet_text(&payload, native, sizeof native);
	if (ret_module->path[0] == '\0')
		memcpy(ret_module->path, native, sizeof native);
	return !payload.failed;
}

bool bp_dotnet_read_process_info(struct bp_bytes payload, char *to, size_t capacity)
{
	(void)bp_dotnet_text(&payload, to, capacity);
	return !payload.failed;
}

/* No address space is larger: 57 bits. Sums of a dozen such figures fit into 64 bits. */
#define HEAP_BYTES_MAX ((uint64_t)1 << 57)
#define STATS_VERSION_MAX 2u

bool bp_dotnet_read_heap_stats(
	struct bp_bytes payload, uint32_t version, struct bp_dotnet_heap_stats *ret_stats)
{
	struct bp_dotnet_heap_stats stats = { .has_pinned = version >= 2 };
	if (version > STATS_VERSION_MAX)
		return false;
	for (uint32_t i = 0; i < BP_DOTNET_GENERATION_PINNED; i++) {
		stats.generations[i] = bp_bytes_u64(&payload);
		(void)bp_bytes_u64(&payload); /* of that, objects that survived this collection */
	}
	/* Finalizable objects that survived, bytes and number; numbers of pinned objects, sink
	 * blocks and handles. */
	(void)bp_bytes_take(&payload, 2 * 8 + 3 * 4);
	if (version >= 1)
		(void)bp_bytes_u16(&payload); /* instance of the runtime */
	if (version >= 2) {
		stats.generations[BP_DOTNET_GENERATION_PINNED] = bp_bytes_u64(&payload);
		(void)bp_bytes_u64(&payload);
	}
	for (uint32_t i = 0; i < BP_DOTNET_GENERATIONS; i++)
		if (stats.generations[i] > HEAP_BYTES_MAX)
			return false;
	if (!payload.failed)
		*ret_stats = stats;
	return !payload.failed;
}

#define COMMITTED_NAME "CommittedUsage"
#define COMMITTED_VERSION 1u

bool bp_dotnet_read_committed(struct bp_bytes payload, struct bp_dotnet_committed *ret_committed)
{
	char name[sizeof COMMITTED_NAME + 1]; /* a longer name is not equal when it is cut */
	(void)bp_dotnet_text(&payload, name, sizeof name);
	const uint32_t bytes = bp_bytes_u32(&payload);
	const uint8_t *data = bp_bytes_take(&payload, bytes);
	if (data == NULL || strcmp(name, COMMITTED_NAME) != 0)
		return false;
	struct bp_bytes fields = bp_bytes_of(data, bytes);
	const uint16_t version = bp_bytes_u16(&fields);
	uint64_t figures[5];
	for (size_t i = 0; i < BP_COUNT(figures); i++) {
		figures[i] = bp_bytes_u64(&fields);
		if (figures[i] > HEAP_BYTES_MAX)
			return false;
	}
	if (fields.failed || version != COMMITTED_VERSION)
		return false;
	*ret_committed = (struct bp_dotnet_committed){ .in_use = figures[0],
		.decommit = figures[1],
		.free = figures[2],
		.global_free = figures[3],
		.bookkeeping = figures[4] };
	return true;
}

/* Appends one character if there is room for it and the end. */
static void append(char *to, size_t capacity, size_t *length, char c)
{
	if (*length + 1 < capacity)
		to[(*length)++] = c;
}

/* Square brackets that hold neither nothing nor commas nor an asterisk are those of generic
 * arguments. Deeper than this the closing ones stay square. */
#define DEPTH_MAX 64

void bp_dotnet_type_name(const char *name, uint64_t type, char *to, size_t capacity)
{
	bool generic[DEPTH_MAX] = { false };
	size_t depth = 0, length = 0;
	if (name[0] == '\0' || strcmp(name, "NULL") == 0) {
		snprintf(to, capacity, "type 0x%llx", (unsigned long long)type);
		return;
	}
	for (const char *c = name; *c != '\0'; c++) {
		if (*c == '`' && c[1] >= '0' && c[1] <= '9') { /* how many arguments: they follow */
			while (c[1] >= '0' && c[1] <= '9')
				c++;
			continue;
		}
		/* Without looking for the backquote: nested types come without the outer one, which
		 * may have had it (Entry[N.Key]). */
		const bool arguments = *c == '[' && c[1] != ']' && c[1] != ',' && c[1] != '*';
		if (*c == '[') {
			if (depth < DEPTH_MAX)
				generic[depth] = arguments;
			depth++;
			append(to, capacity, &length, arguments ? '<' : '[');
		} else if (*c == ']') {
			depth -= depth != 0;
			append(to, capacity, &length,
				depth < DEPTH_MAX && generic[depth] ? '>' : ']');
		} else {
			append(to, capacity, &length, *c);
			if (*c == ',' && depth > 0 && depth <= DEPTH_MAX && generic[depth - 1])
				append(to, capacity, &length, ' ');
		}
	}
	to[length] = '\0';
}
