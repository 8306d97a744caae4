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
	{ EVENT_PIPE, 1, BP_DOTNET_PROCESS_INFO } };

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
