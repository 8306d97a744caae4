/* SPDX-License-Identifier: MIT */
/* Does the calling thread hold the lock of the interpreter (the GIL)? */
#ifndef BP_PYTHON_GIL_H
#define BP_PYTHON_GIL_H

enum bp_python_gil {
	BP_GIL_UNKNOWN, /* it may, or may not */
	BP_GIL_HELD,
	BP_GIL_NOT_HELD
};

/* Asked of an interpreter whose layout is known. Takes no lock and runs no code of the program.
 * What it says stays true for as long as the calling thread does nothing of the interpreter's.
 * Thread-safe. */
enum bp_python_gil bp_python_gil(void);

#endif
