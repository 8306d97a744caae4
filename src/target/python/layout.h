/* SPDX-License-Identifier: MIT */
/*
 * Where CPython keeps what a walk of its frames reads: offsets in its structures, which differ from
 * one minor version to the next and stay as they are within one. They were read off the headers of
 * the versions named in layout.c. All offsets are in bytes.
 */
#ifndef BP_PYTHON_LAYOUT_H
#define BP_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* How frames are linked, and how the evaluation loop that runs a frame is found. */
enum bp_python_form {
	BP_PYTHON_LOOPS, /* up to 3.9: each loop runs one frame, and loops are known by their code */
	BP_PYTHON_CFRAMES, /* 3.10: each loop runs one frame, and has a CFrame on the C stack */
	BP_PYTHON_ENTRIES, /* 3.11: a loop runs several frames, of which the last is its entry */
	BP_PYTHON_SHIMS /* from 3.12 on: a frame that is no function's, on the C stack, ends a loop */
};

struct bp_python_layout {
	uint16_t version; /* major << 8 | minor */
	uint8_t form;	  /* enum bp_python_form */
	/* PyThreadState. thread_frame: the newest frame (form SHIMS of 3.12: in the CFrame) */
	uint16_t thread_id, thread_frame, thread_cframe; /* 0: there is none */
	/* CFrame, _PyCFrame: its frame (3.11, 3.12) and the one before */
	uint16_t cframe_frame, cframe_previous;
	/* PyFrameObject, _PyInterpreterFrame */
	uint16_t frame_previous, frame_code, frame_instruction, frame_owner, frame_is_entry;
	/* Units of an instruction's number up to 3.10, in bytes; 0: an address */
	uint8_t instruction_bytes;
	/* `frame_owner` of a shim; what has a larger one is no function's frame either */
	uint8_t shim_owner;
	/* PyCodeObject: qualified name (the name before 3.11), file, first line, line table,
	 * number of the instruction at which a function's body begins (0: is not told), code */
	uint16_t code_name, code_file, code_first_line, code_lines, code_first_traced, code_bytes;
	/* PyASCIIObject and PyCompactUnicodeObject: their sizes */
	uint16_t ascii_bytes, compact_bytes;
};

/* The same in all versions, of 64-bit builds. */
#define BP_PYTHON_INSTRUCTION_BYTES 2
#define BP_PYTHON_OWNER_GENERATOR 1u /* a value of `frame_owner` */
#define BP_PYTHON_OBJECT_TYPE 8u
#define BP_PYTHON_OBJECT_SIZE 16u /* of objects with a number of items */
#define BP_PYTHON_TYPE_NAME 24u
#define BP_PYTHON_TEXT_LENGTH 16u
#define BP_PYTHON_TEXT_STATE 32u
#define BP_PYTHON_TEXT_KIND_SHIFT 2u
#define BP_PYTHON_TEXT_KIND_MASK 7u
#define BP_PYTHON_TEXT_COMPACT 0x20u
#define BP_PYTHON_TEXT_ASCII 0x40u
#define BP_PYTHON_BYTES_DATA 32u

/* Returns the layout of a version (PY_VERSION_HEX); NULL: it is not known. Pure. */
const struct bp_python_layout *bp_python_layout_of(uint32_t version);

/* Compares a layout with the offsets that CPython publishes about itself from 3.13 on
 * (_Py_DebugOffsets, the beginning of _PyRuntime). False: they differ, or they say that the
 * build is free-threaded. True for earlier versions, which publish none. Pure. */
bool bp_python_layout_agrees(const struct bp_python_layout *layout, const void *runtime);

#endif
