/* SPDX-License-Identifier: MIT */
/*
 * One row for each minor version. The scenario tests `python` and scripts/newest-python hold the
 * rows against interpreters: each stack is the one that Python itself sees.
 */
#include "python/layout.h"

#include <stddef.h>

static const struct bp_python_layout layouts[] = {
	{ .version = 0x308,
		.form = BP_PYTHON_LOOPS,
		.thread_id = 176,
		.thread_frame = 24,
		.frame_previous = 24,
		.frame_code = 32,
		.frame_instruction = 104,
		.instruction_bytes = 1,
		.code_name = 112,
		.code_file = 104,
		.code_first_line = 40,
		.code_lines = 120,
		.ascii_bytes = 48,
		.compact_bytes = 72 },
	{ .version = 0x309,
		.form = BP_PYTHON_LOOPS,
		.thread_id = 176,
		.thread_frame = 24,
		.frame_previous = 24,
		.frame_code = 32,
		.frame_instruction = 104,
		.instruction_bytes = 1,
		.code_name = 112,
		.code_file = 104,
		.code_first_line = 40,
		.code_lines = 120,
		.ascii_bytes = 48,
		.compact_bytes = 72 },
	{ .version = 0x30a,
		.form = BP_PYTHON_CFRAMES,
		.thread_id = 176,
		.thread_frame = 24,
		.thread_cframe = 48,
		.cframe_previous = 8,
		.frame_previous = 24,
		.frame_code = 32,
		.frame_instruction = 96,
		.instruction_bytes = 2,
		.code_name = 112,
		.code_file = 104,
		.code_first_line = 40,
		.code_lines = 120,
		.ascii_bytes = 48,
		.compact_bytes = 72 },
	{ .version = 0x30b,
		.form = BP_PYTHON_ENTRIES,
		.thread_id = 152,
		.thread_cframe = 56,
		.cframe_frame = 8,
		.cframe_previous = 16,
		.frame_previous = 48,
		.frame_code = 32,
		.frame_instruction = 56,
		.frame_owner = 69,
		.frame_is_entry = 68,
		.code_name = 128,
		.code_file = 112,
		.code_first_line = 72,
		.code_lines = 136,
		.code_first_traced = 168,
		.code_bytes = 184,
		.ascii_bytes = 48,
		.compact_bytes = 72 },
	{ .version = 0x30c,
		.form = BP_PYTHON_SHIMS,
		.thread_id = 136,
		.thread_cframe = 56,
		.cframe_frame = 0,
		.cframe_previous = 8,
		.frame_previous = 8,
		.frame_code = 0,
		.frame_instruction = 56,
		.frame_owner = 70,
		.shim_owner = 3,
		.code_name = 128,
		.code_file = 112,
		.code_first_line = 68,
		.code_lines = 136,
		.code_first_traced = 176,
		.code_bytes = 192,
		.ascii_bytes = 40,
		.compact_bytes = 56 },
	{ .version = 0x30d,
		.form = BP_PYTHON_SHIMS,
		.thread_id = 152,
		.thread_frame = 72,
		.frame_previous = 8,
		.frame_code = 0,
		.frame_instruction = 56,
		.frame_owner = 70,
		.shim_owner = 3,
		.code_name = 128,
		.code_file = 112,
		.code_first_line = 68,
		.code_lines = 136,
		.code_first_traced = 184,
		.code_bytes = 200,
		.ascii_bytes = 40,
		.compact_bytes = 56 },
	{ .version = 0x30e,
		.form = BP_PYTHON_SHIMS,
		.thread_id = 152,
		.thread_frame = 72,
		.frame_previous = 8,
		.frame_code = 0,
		.frame_instruction = 56,
		.frame_owner = 74,
		.shim_owner = 3,
		.code_name = 128,
		.code_file = 112,
		.code_first_line = 68,
		.code_lines = 136,
		.code_first_traced = 192,
		.code_bytes = 208,
		.ascii_bytes = 40,
		.compact_bytes = 56 },
};

const struct bp_python_layout *bp_python_layout_of(uint32_t version)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].version == version >> 16)
			return &layouts[i];
	return NULL;
}

/* Words of _Py_DebugOffsets. Its groups grow from one version to the next. */
#define COOKIE "xdebugpy"
#define WORD_VERSION 1u
#define WORD_FREE_THREADED 2u
#define WORDS 49u

bool bp_python_layout_agrees(const struct bp_python_layout *layout, const void *runtime)
{
	uint64_t word[WORDS];
	if (layout->version < 0x30d)
		return true;
	if (runtime == NULL)
		return false;
	__builtin_memcpy(word, runtime, sizeof word);
	/* Where they are in 3.13 and in 3.14. */
	const bool first = layout->version == 0x30d;
	const struct {
		uint16_t in_3_13, in_3_14; /* in bytes */
		uint16_t ours;
	} offsets[] = {
		{ 184, 208, layout->thread_frame },
		{ 232, 256, layout->frame_previous },
		{ 240, 264, layout->frame_code },
		{ 248, 272, layout->frame_instruction },
		{ 264, 288, layout->frame_owner },
		{ 280, 320, layout->code_file },
		{ 296, 336, layout->code_name },
		{ 304, 344, layout->code_lines },
		{ 312, 352, layout->code_first_line },
		{ 344, 384, layout->code_bytes },
	};
	if (__builtin_memcmp(word, COOKIE, 8) != 0 || word[WORD_VERSION] >> 16 != layout->version ||
		word[WORD_FREE_THREADED] != 0)
		return false;
	for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
		if (word[(first ? offsets[i].in_3_13 : offsets[i].in_3_14) / 8] != offsets[i].ours)
			return false;
	return true;
}
