/* SPDX-License-Identifier: MIT */
/*
 * Frames of Python, read from an interpreter that this test is: structures laid out as CPython 3.8,
 * 3.10, 3.11 and 3.12 lay theirs out, and functions that answer as its do. What is read goes to a
 * trace, and is read back. Then the same with memory that is not there, types that are wrong and
 * chains that go round. Real interpreters are tests/scenario/test_python.py's.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "python/arenas.h"
#include "python/frame_names.h"
#include "python/frames.h"
#include "python/interpreter.h"
#include "python/mixed_stack.h"
#include "trace/reader.h"
#include "trace/writer/writer.h"
#include "unwind/frame_rules.h"
#include "unwind/modules.h"
#include "unwind/stack_table.h"

/* ---- what the walk finds around it ---- */

static struct bp_writer writer;
static char path[64];

void bp_modules_note(struct bp_writer *to, const uint64_t *pcs, uint32_t depth)
{
	(void)to, (void)pcs, (void)depth;
}

uint64_t bp_modules_epoch(void)
{
	return 0;
}

bool bp_module_range_find(uintptr_t address, struct bp_module_range *ret_range)
{
	(void)address, (void)ret_range;
	return false;
}

/* A native stack of five frames. The loops' own variables are in the array below, a piece of 32
 * bytes for each frame of the stack. */
static struct bp_stack_capture native;

static _Alignas(16) uint8_t on_stack[5][160];

uint32_t bp_stack_frame_at(const struct bp_stack_capture *capture, const void *address)
{
	for (uint32_t i = 0; i < 5; i++)
		if (address == on_stack[i])
			return i;
	return capture->depth;
}

/* ---- an interpreter ---- */

#define MEMORY 65536u
static _Alignas(16) uint8_t memory[MEMORY];
static size_t used;
static uint8_t *type_of_code, *type_of_text, *thread;

static uint8_t *make(size_t bytes)
{
	uint8_t *object = memory + used;
	used += (bytes + 15) / 16 * 16;
	assert_true(used <= MEMORY);
	memset(object, 0, bytes);
	return object;
}

static void put(uint8_t *object, size_t offset, const void *value)
{
	memcpy(object + offset, &value, sizeof value);
}

static uint8_t *make_type(const char *name)
{
	uint8_t *type = make(64);
	put(type, BP_PYTHON_TYPE_NAME, name);
	return type;
}

static uint8_t *make_text(const char *text)
{
	const uint64_t length = strlen(text);
	const uint32_t state =
		1u << BP_PYTHON_TEXT_KIND_SHIFT | BP_PYTHON_TEXT_COMPACT | BP_PYTHON_TEXT_ASCII;
	uint8_t *object = make(bp_python.layout->ascii_bytes + length + 1);
	put(object, BP_PYTHON_OBJECT_TYPE, type_of_text);
	memcpy(object + BP_PYTHON_TEXT_LENGTH, &length, sizeof length);
	memcpy(object + BP_PYTHON_TEXT_STATE, &state, sizeof state);
	memcpy(object + bp_python.layout->ascii_bytes, text, length);
	return object;
}

/* Of two bytes a character. */
static uint8_t *make_wide_text(const uint16_t *text, uint64_t length)
{
	const uint32_t state = 2u << BP_PYTHON_TEXT_KIND_SHIFT | BP_PYTHON_TEXT_COMPACT;
	uint8_t *object = make(bp_python.layout->compact_bytes + length * 2 + 2);
	put(object, BP_PYTHON_OBJECT_TYPE, type_of_text);
	memcpy(object + BP_PYTHON_TEXT_LENGTH, &length, sizeof length);
	memcpy(object + BP_PYTHON_TEXT_STATE, &state, sizeof state);
	memcpy(object + bp_python.layout->compact_bytes, text, length * 2);
	return object;
}

static uint8_t *make_code(uint8_t *name, const char *file)
{
	const struct bp_python_layout *layout = bp_python.layout;
	uint8_t *code = make(320), *lines = make(64);
	put(code, BP_PYTHON_OBJECT_TYPE, type_of_code);
	put(code, layout->code_name, name);
	put(code, layout->code_file, make_text(file));
	put(code, layout->code_lines, lines);
	return code;
}

/* A frame at the instruction with this offset in its code. */
static uint8_t *make_frame(uint8_t *code, uint8_t *previous, uint32_t instruction)
{
	const struct bp_python_layout *layout = bp_python.layout;
	uint8_t *frame = make(160);
	put(frame, layout->frame_code, code);
	put(frame, layout->frame_previous, previous);
	if (layout->instruction_bytes != 0) {
		const uint32_t number = instruction / layout->instruction_bytes;
		memcpy(frame + layout->frame_instruction, &number, sizeof number);
	} else {
		put(frame, layout->frame_instruction, code + layout->code_bytes + instruction);
	}
	return frame;
}

static void *current_thread(void)
{
	return thread;
}

static int initialized = 1;

static int is_initialized(void)
{
	return initialized;
}

/* The line is ten times the instruction. */
static int line_of(void *code, int instruction)
{
	(void)code;
	return instruction * 10;
}

static const char *version_text = "3.11.7 (main)";

static const char *version(void)
{
	return version_text;
}

static void evaluate(void)
{
}

static struct bp_python_functions functions_now(void)
{
	return (struct bp_python_functions){
		.current_thread = current_thread,
		.own_thread = current_thread,
		.line_of = line_of,
		.is_initialized = is_initialized,
		.version = version,
		.evaluate = (const void *)evaluate,
		.evaluate_bytes = 100,
	};
}

static void begin_interpreter(const char *text)
{
	const struct bp_python_functions functions = functions_now();
	memset(&bp_python, 0, sizeof bp_python);
	version_text = text;
	initialized = 1;
	bp_python_found(&functions);
	used = 0;
	memset(memory, 0, sizeof memory);
	type_of_code = make_type("code");
	type_of_text = make_type("str");
	thread = make(512);
}

static void begin_native(void)
{
	memset(&native, 0, sizeof native);
	memset(on_stack, 0, sizeof on_stack);
	native.depth = 5;
	for (uint32_t i = 0; i < native.depth; i++)
		native.pcs[i] = 0x400000 + i * 0x1000;
}

static int open_trace(void **state)
{
	(void)state;
	static int number;
	struct bp_trace_header header = {
		.magic = BP_TRACE_MAGIC,
		.version_major = BP_TRACE_MAJOR,
		.version_minor = BP_TRACE_MINOR,
		.chunk_bytes = BP_CHUNK_BYTES,
		.page_bytes = 4096,
		.interval_bytes = 1,
		.charge_bytes = 1,
		.recognition = BP_RECOGNITION_HEADER,
	};
	memset(&writer, 0, sizeof writer);
	snprintf(path, sizeof path, "/tmp/bytepoll-python.%d.%d", (int)getpid(), number++);
	assert_true(bp_writer_open(&writer, path, &header, ""));
	bp_python_places_after_fork(); /* as a child's trace, it has none of the names yet */
	bp_mixed_stack_after_fork();
	bp_stack_table_after_fork();
	begin_native();
	return 0;
}

static int remove_trace(void **state)
{
	(void)state;
	return unlink(path);
}

/* What the trace says of the stack `id`: places as function:line@position, innermost first; "" if it
 * has no MIXED STACK of that id. */
static const char *read_back(uint32_t id)
{
	static char text[4096];
	static struct {
		char name[256];
		uint32_t line;
	} places[64];
	static uint64_t frames[BP_NAMED_STACK_MAX_DEPTH];
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	struct bp_error error;
	uint32_t depth = 0;
	size_t at = 0;
	bp_writer_close(&writer);
	assert_true(bp_trace_reader_open(&reader, path, &error));
	while (bp_trace_reader_next(&reader, &record, &error) == BP_TRACE_RECORD) {
		if (record.tag == BP_TAG_FRAME) {
			assert_true(record.name.id < 64);
			snprintf(places[record.name.id].name, sizeof places->name, "%.*s",
				(int)record.name.text.bytes, record.name.text.data);
			places[record.name.id].line = record.name.line;
		} else if (record.tag == BP_TAG_MIXED_STACK && record.stack.id == id) {
			depth = record.stack.depth;
			for (uint32_t i = 0; i < depth; i++)
				frames[i] = record.stack.frames[i].pc;
		}
	}
	assert_int_equal(reader.damaged_chunks, 0);
	bp_trace_reader_close(&reader);
	text[0] = '\0';
	for (uint32_t i = 0; i < depth && at < sizeof text; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%s:%u@%u", i == 0 ? "" : " ",
			places[(uint32_t)frames[i]].name, places[(uint32_t)frames[i]].line,
			(unsigned)(frames[i] >> 32));
	return text;
}

static struct bp_python_walk *walk_memory;

static uint32_t walk_now(void)
{
	return bp_mixed_stack_id(&writer, &native, &walk_memory, true);
}

/* ---- the tests ---- */

/* Each loop runs one frame; loops are known by their code. */
static void loops_are_counted(void **state)
{
	(void)state;
	begin_interpreter("3.8.18 (default)");
	assert_true(bp_python.frames);
	uint8_t *outer = make_frame(make_code(make_text("main"), "a.py"), NULL, 7);
	uint8_t *inner = make_frame(make_code(make_text("parse"), "b.py"), outer, 3);
	put(thread, bp_python.layout->thread_frame, inner);
	native.pcs[1] = native.pcs[3] = (uint64_t)evaluate + 10;
	assert_string_equal(read_back(walk_now()), "parse:30@1 main:70@3");
}

/* A loop that runs two frames, of which the second is its entry, called by another loop. */
static void entries_end_loops(void **state)
{
	(void)state;
	begin_interpreter("3.11.7 (main)");
	const struct bp_python_layout *layout = bp_python.layout;
	uint8_t *outer_loop = on_stack[3], *inner_loop = on_stack[1];
	uint8_t *top = make_frame(make_code(make_text("<module>"), "m.py"), NULL, 2);
	uint8_t *middle = make_frame(make_code(make_text("C.call"), "m.py"), top, 4);
	uint8_t *inner = make_frame(make_code(make_text("C.call.<locals>.f"), "m.py"), middle, 6);
	top[layout->frame_is_entry] = middle[layout->frame_is_entry] = 1;
	put(inner_loop, layout->cframe_frame, inner);
	put(inner_loop, layout->cframe_previous, outer_loop);
	put(thread, layout->thread_cframe, inner_loop);
	assert_string_equal(
		read_back(walk_now()), "C.call.<locals>.f:60@1 C.call:40@1 <module>:20@3");
}

/* A name of characters that are not ASCII, and one instruction that stands for the first line. */
static void texts_become_utf8(void **state)
{
	(void)state;
	begin_interpreter("3.12.1 (main)");
	const struct bp_python_layout *layout = bp_python.layout;
	const uint16_t name[] = { 'f', 0xe9, 0x4e2d, 0x1b };
	uint8_t *loop = make(32);
	uint8_t *frame = make_frame(make_code(make_wide_text(name, 4), "x.py"), NULL, 0);
	put(loop, layout->cframe_frame, frame);
	put(thread, layout->thread_cframe, loop);
	assert_string_equal(read_back(walk_now()), "f\xc3\xa9\xe4\xb8\xad\x1b:0@5");
}

/* Shims are no frames of a function, and end loops. */
static void shims_are_passed_over(void **state)
{
	(void)state;
	begin_interpreter("3.12.1 (main)");
	const struct bp_python_layout *layout = bp_python.layout;
	uint8_t *loop = make(32), *shim = on_stack[2];
	uint8_t *outer = make_frame(make_code(make_text("outer"), "x.py"), NULL, 1);
	put(shim, layout->frame_previous, outer);
	shim[layout->frame_owner] = layout->shim_owner;
	uint8_t *inner = make_frame(make_code(make_text("inner"), "x.py"), shim, 2);
	put(loop, layout->cframe_frame, inner);
	put(thread, layout->thread_cframe, loop);
	assert_string_equal(read_back(walk_now()), "inner:20@2 outer:10@5");
}

/* Equal stacks have one number, and one that differs in a line has another. */
static void numbers_are_of_stacks(void **state)
{
	(void)state;
	begin_interpreter("3.10.13 (main)");
	const struct bp_python_layout *layout = bp_python.layout;
	uint8_t *frame = make_frame(make_code(make_text("f"), "x.py"), NULL, 8);
	put(thread, layout->thread_frame, frame);
	const uint32_t id = walk_now();
	assert_int_equal(walk_now(), id);
	uint32_t instruction = 5; /* of two bytes each */
	memcpy(frame + layout->frame_instruction, &instruction, sizeof instruction);
	const uint32_t other = walk_now();
	assert_int_not_equal(other, id);
	put(thread, layout->thread_frame, NULL);
	const uint32_t without = walk_now();
	assert_int_not_equal(without, id);
	assert_string_equal(read_back(other), "f:100@5");
	assert_string_equal(read_back(without), "");
}

/* A code object that another one has replaced at its address is another place. */
static void a_new_code_object_is_a_new_place(void **state)
{
	(void)state;
	begin_interpreter("3.10.13 (main)");
	const struct bp_python_layout *layout = bp_python.layout;
	uint8_t *code = make_code(make_text("f1"), "x.py");
	uint8_t *frame = make_frame(code, NULL, 8);
	put(thread, layout->thread_frame, frame);
	(void)walk_now();
	uint8_t *name;
	memcpy(&name, code + layout->code_name, sizeof name);
	name[layout->ascii_bytes + 1] = '2';
	assert_string_equal(read_back(walk_now()), "f2:80@5");
}

static void deep_stacks_are_cut(void **state)
{
	(void)state;
	begin_interpreter("3.9.18 (main)");
	uint8_t *code = make_code(make_text("deep"), "x.py");
	uint8_t *frame = make_frame(code, NULL, 1);
	/* A chain that goes round has no end. */
	put(frame, bp_python.layout->frame_previous, frame);
	put(thread, bp_python.layout->thread_frame, frame);
	assert_int_not_equal(walk_now(), 0);
	assert_int_equal(walk_memory->depth, BP_NAMED_STACK_MAX_DEPTH);
	assert_true(walk_memory->cut);
	assert_true(bp_python.frames);
}

/* What cannot be ends the reading of frames for good, where the interpreter is as it should be. */
static void wrong_memory_is_given_up(void **state)
{
	(void)state;
	static const uint64_t wrong[] = { 8, 0x7fffffff0000, 0xdead000000000000, 1 };
	for (size_t i = 0; i < 4; i++) {
		begin_interpreter("3.10.13 (main)");
		uint8_t *frame = make_frame((uint8_t *)(uintptr_t)wrong[i], NULL, 1);
		put(thread, bp_python.layout->thread_frame, frame);
		initialized = 0; /* it may end just now: nothing follows from that */
		assert_int_not_equal(walk_now(), 0);
		assert_int_equal(walk_memory->depth, 0);
		assert_true(bp_python.frames);
		initialized = 1;
		native.exact_mask[0] = 4; /* a signal interrupted it */
		assert_int_not_equal(walk_now(), 0);
		assert_true(bp_python.frames);
		native.exact_mask[0] = 0;
		assert_int_not_equal(walk_now(), 0);
		assert_false(bp_python.frames);
		assert_int_equal(bp_python.frames_state, BP_PYTHON_TEST_FAILED);
	}
	/* Something else than a code object, and a name that is no str. */
	begin_interpreter("3.10.13 (main)");
	uint8_t *code = make_code(make_text("f"), "x.py");
	put(code, BP_PYTHON_OBJECT_TYPE, make_type("coder"));
	put(thread, bp_python.layout->thread_frame, make_frame(code, NULL, 1));
	(void)walk_now();
	assert_false(bp_python.frames);
	begin_interpreter("3.10.13 (main)");
	code = make_code(make_text("f"), "x.py");
	put(code, bp_python.layout->code_name, code);
	put(thread, bp_python.layout->thread_frame, make_frame(code, NULL, 1));
	(void)walk_now();
	assert_false(bp_python.frames);
}

static void versions_are_known_or_not(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t version, frames_state;
	} cases[] = {
		{ "3.8.0 (default)", 0x030800f0, BP_PYTHON_RECORDED },
		{ "3.11.7+ (main)", 0x030b07f0, BP_PYTHON_RECORDED },
		{ "3.12.0rc2 (main)", 0x030c00c0, BP_PYTHON_RECORDED },
		{ "3.7.16 (main)", 0x030710f0, BP_PYTHON_UNKNOWN_VERSION },
		{ "3.15.0a1 (main)", 0x030f00a0, BP_PYTHON_UNKNOWN_VERSION },
		{ "PyPy", 0, BP_PYTHON_UNKNOWN_VERSION }, { "", 0, BP_PYTHON_UNKNOWN_VERSION },
		{ "3.13.0 experimental free-threading build (main)", 0x030d00f0,
			BP_PYTHON_FREE_THREADED },
		{ "3.13.0 (main)", 0x030d00f0, BP_PYTHON_TEST_FAILED }, /* it publishes nothing */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin_interpreter("3.8.0");
		const struct bp_python_functions functions = functions_now();
		version_text = cases[i].text;
		bp_python.code_type = bp_python.text_type = &cases;
		bp_python.walks = 64;
		bp_python_found(&functions);
		assert_int_equal(bp_python.version, cases[i].version);
		assert_int_equal(bp_python.frames_state, cases[i].frames_state);
		assert_int_equal(bp_python.frames, cases[i].frames_state == BP_PYTHON_RECORDED);
		/* Types of an interpreter that was there before are forgotten. */
		assert_null(bp_python.code_type);
		assert_null(bp_python.text_type);
		assert_int_equal(bp_python.walks, 0);
	}
}

static void arenas_hold_their_pages(void **state)
{
	(void)state;
	const uintptr_t bases[] = { 0x10000, 0x7ffffff00000, 0x3ffff000, (uintptr_t)1 << 40 };
	assert_false(bp_python_arena_has((void *)0x10000));
	for (size_t i = 0; i < 4; i++) {
		const void *arena = (const void *)bases[i];
		assert_true(bp_python_arena_add(arena, 256 << 10));
		assert_true(bp_python_arena_has(arena));
		assert_true(bp_python_arena_has((const char *)arena + (256 << 10) - 1));
		assert_false(bp_python_arena_has((const char *)arena + (256 << 10)));
		assert_false(bp_python_arena_has((const char *)arena - 1));
		bp_python_arena_remove(arena, 256 << 10);
		assert_false(bp_python_arena_has(arena));
	}
	assert_false(bp_python_arena_add((void *)((uintptr_t)1 << 47), 4096));
	assert_false(bp_python_arena_has((void *)UINTPTR_MAX));
	assert_false(bp_python_arena_has(NULL));
}

static void *many_places(void *ids)
{
	char name[32];
	for (uint32_t i = 0; i < 2000; i++) {
		const struct bp_python_text file = { "f.py", 4 }, function = { name,
			(size_t)snprintf(name, sizeof name, "g%u", i) };
		((uint32_t *)ids)[i] = bp_python_place_id(&function, &file, i);
	}
	return NULL;
}

static void threads_agree_on_places(void **state)
{
	(void)state;
	static uint32_t ids[4][2000];
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, many_places, ids[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < 4; i++)
		assert_memory_equal(ids[i], ids[0], sizeof ids[0]);
	for (uint32_t i = 0; i < 2000; i++)
		assert_int_not_equal(ids[0][i], 0);
	const struct bp_python_text a = { "ab", 2 }, b = { "c", 1 }, c = { "a", 1 },
				    d = { "bc", 2 };
	assert_int_not_equal(bp_python_place_id(&a, &b, 1), bp_python_place_id(&c, &d, 1));
	assert_false(bp_python_place_write(0, &writer));
	assert_false(bp_python_place_write(UINT32_MAX, &writer));
}

/* What an interpreter publishes of itself, from 3.13 on, must be what the row says. */
static void a_layout_is_held_against_the_interpreters_word(void **state)
{
	static const uint16_t places[2][10] = {
		{ 184, 232, 240, 248, 264, 280, 296, 304, 312, 344 },
		{ 208, 256, 264, 272, 288, 320, 336, 344, 352, 384 },
	};
	(void)state;
	assert_true(bp_python_layout_agrees(bp_python_layout_of(0x030b07f0), NULL));
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t version = i == 0 ? 0x030d00f0 : 0x030e08f0;
		const struct bp_python_layout *layout = bp_python_layout_of(version);
		uint64_t words[64];
		memset(words, 0x5a, sizeof words);
		memcpy(words, "xdebugpy", 8);
		words[1] = version;
		words[2] = 0;
		assert_non_null(layout);
		const uint16_t ours[10] = { layout->thread_frame, layout->frame_previous,
			layout->frame_code, layout->frame_instruction, layout->frame_owner,
			layout->code_file, layout->code_name, layout->code_lines,
			layout->code_first_line, layout->code_bytes };
		for (uint32_t k = 0; k < 10; k++)
			words[places[i][k] / 8] = ours[k];
		assert_true(bp_python_layout_agrees(layout, words));
		assert_false(bp_python_layout_agrees(layout, NULL));
		for (uint32_t k = 0; k < 10; k++) {
			words[places[i][k] / 8]++;
			assert_false(bp_python_layout_agrees(layout, words));
			words[places[i][k] / 8]--;
		}
		words[2] = 1; /* free-threaded */
		assert_false(bp_python_layout_agrees(layout, words));
		words[2] = 0;
		words[1] += 1u << 16; /* the next minor version */
		assert_false(bp_python_layout_agrees(layout, words));
	}
	assert_null(bp_python_layout_of(0x030f00f0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(loops_are_counted, open_trace, remove_trace),
		cmocka_unit_test_setup_teardown(entries_end_loops, open_trace, remove_trace),
		cmocka_unit_test_setup_teardown(texts_become_utf8, open_trace, remove_trace),
		cmocka_unit_test_setup_teardown(shims_are_passed_over, open_trace, remove_trace),
		cmocka_unit_test_setup_teardown(numbers_are_of_stacks, open_trace, remove_trace),
		cmocka_unit_test_setup_teardown(
			a_new_code_object_is_a_new_place, open_trace, remove_trace),
		cmocka_unit_test_setup_teardown(deep_stacks_are_cut, open_trace, remove_trace),
		cmocka_unit_test_setup_teardown(wrong_memory_is_given_up, open_trace, remove_trace),
		cmocka_unit_test(versions_are_known_or_not),
		cmocka_unit_test(arenas_hold_their_pages),
		cmocka_unit_test_setup_teardown(threads_agree_on_places, open_trace, remove_trace),
		cmocka_unit_test(a_layout_is_held_against_the_interpreters_word),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
