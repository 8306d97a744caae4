/* SPDX-License-Identifier: MIT */
/* See interpreter.h. */
#include "python/interpreter.h"

#include "trace/writer/writer.h"
#include "unwind/frame_rules.h"

struct bp_python bp_python __attribute__((visibility("hidden")));

/* "3.11.7 (main, ...)", "3.13.0a1", "3.13.0rc2+": as PY_VERSION_HEX; 0 if it is something else. */
static uint32_t read_version(const char *text)
{
	uint32_t parts[3] = { 0 };
	for (uint32_t i = 0; i < 3; i++) {
		if (i > 0 && *text++ != '.')
			return 0;
		if (*text < '0' || *text > '9')
			return 0;
		while (*text >= '0' && *text <= '9' && parts[i] < 100)
			parts[i] = parts[i] * 10 + (uint32_t)(*text++ - '0');
	}
	const uint32_t level = *text == 'a' ? 0xa : *text == 'b' ? 0xb : *text == 'r' ? 0xc : 0xf;
	return parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | level << 4;
}

static bool contains(const char *text, const char *part)
{
	const size_t bytes = __builtin_strlen(part);
	for (; *text != '\0'; text++)
		if (__builtin_strncmp(text, part, bytes) == 0)
			return true;
	return false;
}

static enum bp_python_state judge_frames(void)
{
	const struct bp_python_functions *functions = &bp_python.functions;
	if (contains(functions->version(), "free-threading"))
		return BP_PYTHON_FREE_THREADED;
	bp_python.layout = bp_python_layout_of(bp_python.version);
	if (bp_python.layout == NULL || functions->own_thread == NULL ||
		functions->line_of == NULL || functions->evaluate == NULL)
		return BP_PYTHON_UNKNOWN_VERSION;
	return bp_python_layout_agrees(bp_python.layout, functions->runtime)
		       ? BP_PYTHON_RECORDED
		       : BP_PYTHON_TEST_FAILED;
}

void bp_python_found(const struct bp_python_functions *functions)
{
	/* An interpreter that was closed may have had its types at other addresses. */
	bp_python.walks = 0;
	bp_python.code_type = bp_python.text_type = NULL;
	bp_python.functions = *functions;
	bp_python.version = read_version(functions->version());
	bp_python.frames_state =
		bp_python.wanted == BP_PYTHON_OFF ? BP_PYTHON_NOT_ASKED : judge_frames();
	bp_python.objects_state = BP_PYTHON_NOT_ASKED;
	bp_python.small_max = BP_PYTHON_SMALL_MAX;
	bp_python.known = true;
	__atomic_store_n(
		&bp_python.frames, bp_python.frames_state == BP_PYTHON_RECORDED, __ATOMIC_RELEASE);
}

void bp_python_describe(struct bp_writer *writer)
{
	char name[64] = "CPython ";
	size_t bytes = 8;
	if (!bp_python.known)
		return;
	for (const char *text = bp_python.functions.version();
		*text != '\0' && *text != ' ' && bytes < sizeof name - 1; text++)
		name[bytes++] = *text;
	const uint64_t values[] = { bp_python.version, (uint64_t)bp_python.functions.version,
		bp_python.frames_state, bp_python.objects_state, bp_python.small_max };
	(void)bp_writer_plain(
		writer, BP_TAG_INTERPRETER, values, sizeof values / sizeof *values, name);
}

void bp_python_give_up(struct bp_writer *writer)
{
	if (!__atomic_exchange_n(&bp_python.frames, false, __ATOMIC_RELAXED))
		return;
	bp_python.frames_state = BP_PYTHON_TEST_FAILED;
	bp_python_describe(writer);
}

void bp_python_check_gone(void)
{
	struct bp_module_range range;
	if (bp_python.known &&
		!bp_module_range_find((uintptr_t)bp_python.functions.version, &range)) {
		__atomic_store_n(&bp_python.frames, false, __ATOMIC_RELAXED);
		bp_python.known = false;
	}
}
