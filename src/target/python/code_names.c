/* SPDX-License-Identifier: MIT */
/*
 * The line of an instruction is found by PyCode_Addr2Line, which reads the line table from its
 * begin. So what was found is kept by thread, for the code object and the instruction, and is used
 * again if name, file and line table have the same content as then: a code object may be freed, and
 * another one be put into its place.
 */
#include "python/code_names.h"

#include "base/attributes.h"
#include "python/frame_names.h"
#include "python/interpreter.h"

/* Longest line table that is compared whole; of a longer one its length and its begin. */
#define LINES_COMPARED 256u
#define TEXT_LENGTH_MAX ((uint64_t)1 << 24)

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | (c >> 18 & 7));
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

static uint32_t character(const void *data, uint32_t kind, uint64_t index)
{
	return kind == 1   ? ((const uint8_t *)data)[index]
	       : kind == 2 ? ((const uint16_t *)data)[index]
			   : ((const uint32_t *)data)[index];
}

/* Is the object of this type? In a careful walk; the first one learns which type has that name. */
static bool has_type(
	struct bp_python_memory *memory, const void *object, const char *name, const void **type)
{
	const void *found = bp_python_pointer(memory, object, BP_PYTHON_OBJECT_TYPE);
	const size_t bytes = __builtin_strlen(name) + 1;
	if (memory->failed || found == *type)
		return !memory->failed;
	const char *found_name = bp_python_pointer(memory, found, BP_PYTHON_TYPE_NAME);
	const bool same = *type == NULL && bp_python_can_read(memory, found_name, bytes) &&
			  __builtin_memcmp(found_name, name, bytes) == 0;
	if (same)
		*type = found;
	memory->failed |= !same;
	return same;
}

/* The content of a str, converted into `buffer` where it is not ASCII. */
static struct bp_python_text text_of(
	struct bp_python_memory *memory, const void *object, char buffer[BP_NAME_MAX_BYTES])
{
	const struct bp_python_layout *layout = bp_python.layout;
	struct bp_python_text text = { buffer, 0 };
	if (memory->careful && !has_type(memory, object, "str", &bp_python.text_type))
		return text;
	const uint64_t length = bp_python_u64(memory, object, BP_PYTHON_TEXT_LENGTH);
	const uint32_t state = bp_python_u32(memory, object, BP_PYTHON_TEXT_STATE);
	const uint32_t kind = state >> BP_PYTHON_TEXT_KIND_SHIFT & BP_PYTHON_TEXT_KIND_MASK;
	if (length > TEXT_LENGTH_MAX || (kind != 1 && kind != 2 && kind != 4)) {
		memory->failed = true;
		return text;
	}
	const uint64_t kept = length < BP_NAME_MAX_BYTES ? length : BP_NAME_MAX_BYTES;
	const bool compact = (state & BP_PYTHON_TEXT_COMPACT) != 0;
	const void *data = (const char *)object + layout->compact_bytes;
	if (compact && (state & BP_PYTHON_TEXT_ASCII) != 0) {
		text.data = (const char *)object + layout->ascii_bytes;
		text.bytes = bp_python_can_read(memory, text.data, kept) ? kept : 0;
		return text;
	}
	if (!compact)
		data = bp_python_pointer(memory, data, 0);
	if (!bp_python_can_read(memory, data, kept * kind))
		return text;
	for (uint64_t i = 0; i < kept && text.bytes + 4 <= BP_NAME_MAX_BYTES; i++)
		text.bytes += put_utf8(buffer + text.bytes, character(data, kind, i));
	return text;
}

static uint64_t hash_of_lines(struct bp_python_memory *memory, const void *code)
{
	const void *lines = bp_python_pointer(memory, code, bp_python.layout->code_lines);
	const uint64_t length = bp_python_u64(memory, lines, BP_PYTHON_OBJECT_SIZE);
	const uint64_t compared = length < LINES_COMPARED ? length : LINES_COMPARED;
	const char *data = (const char *)lines + BP_PYTHON_BYTES_DATA;
	return bp_python_can_read(memory, data, compared) ? bp_checksum(data, compared) + length
							  : 0;
}

uint32_t bp_python_place_of(struct bp_python_walk *walk, struct bp_python_memory *memory,
	const void *code, int32_t instruction)
{
	const struct bp_python_layout *layout = bp_python.layout;
	if (code == NULL ||
		(memory->careful && !has_type(memory, code, "code", &bp_python.code_type))) {
		memory->failed = true;
		return 0;
	}
	const struct bp_python_text function =
		text_of(memory, bp_python_pointer(memory, code, layout->code_name), walk->function);
	const struct bp_python_text file =
		text_of(memory, bp_python_pointer(memory, code, layout->code_file), walk->file);
	const struct bp_python_known_place now = {
		.code = code,
		.texts = bp_checksum(function.data, function.bytes) * 3 +
			 bp_checksum(file.data, file.bytes) + hash_of_lines(memory, code) * 5,
		.instruction = instruction,
		.first_line = (int32_t)bp_python_u32(memory, code, layout->code_first_line),
	};
	if (memory->failed)
		return 0;
	const uint64_t key = (uint64_t)code / 16 + (uint32_t)instruction * 0x9E3779B1u;
	struct bp_python_known_place *known = &walk->known[key % BP_PYTHON_KNOWN_PLACES];
	if (bp_likely(known->code == now.code && known->texts == now.texts &&
		      known->instruction == now.instruction && known->first_line == now.first_line))
		return known->id;
	const int line = bp_python.functions.line_of((void *)(uintptr_t)code, instruction);
	const uint32_t id = bp_python_place_id(&function, &file, line > 0 ? (uint32_t)line : 0);
	*known = now;
	known->id = id;
	return id;
}
