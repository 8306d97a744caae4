/* SPDX-License-Identifier: MIT */
/*
 * Frames of Python in a profile: what is shown of stacks that hold them, and to which module of
 * Python a frame belongs.
 */
#ifndef BP_MODEL_PYTHON_FRAMES_H
#define BP_MODEL_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

/* What stacks with frames of Python consist of. */
enum bp_python_frames {
	BP_PYTHON_FRAMES_BOTH,	 /* Python's, and C's but for the interpreter's own */
	BP_PYTHON_FRAMES_PYTHON, /* Python's alone */
	BP_PYTHON_FRAMES_NATIVE	 /* C's alone, as they were recorded */
};

/* Zeroed: the default. */
struct bp_frame_choice {
	enum bp_python_frames python;
	bool hide_imports; /* leave out the functions by which Python imports and runs modules */
};

/* Writes the name of the module that a Python file is, as `import` would have it: json.decoder for
 * .../lib/python3.11/json/decoder.py, requests.api for .../site-packages/requests/api.py, the name
 * without .py for any other file; importlib._bootstrap for <frozen importlib._bootstrap>; and the
 * file's own name for what is no file (<string>). Cut to `bytes` - 1; terminated. Pure. */
void bp_python_module_name(const char *file, char *to, size_t bytes);

/* Is a frame with this file one of those that import and run modules? Pure. */
bool bp_python_is_import(const char *file);

#endif
