/* SPDX-License-Identifier: MIT */
/*
 * An extension of Python whose functions cannot be unwound: built without unwind tables and frame
 * pointers. rows(n) makes n rows, objects of two sizes that Python's functions make for it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

__attribute__((noinline)) static PyObject *row_of(long number)
{
	volatile char deep[700];
	deep[number % 700] = (char)number;
	PyObject *row = PyList_New(0);
	for (long i = 0; row != NULL && i < 3; i++) {
		PyObject *cell = PyBytes_FromStringAndSize(NULL, 20000 + i);
		if (cell == NULL || PyList_Append(row, cell) != 0) {
			Py_XDECREF(cell);
			Py_CLEAR(row);
			break;
		}
		Py_DECREF(cell);
	}
	return deep[number % 700] == (char)number ? row : NULL;
}

static PyObject *rows(PyObject *self, PyObject *count)
{
	PyObject *all = PyList_New(0);
	(void)self;
	for (long i = 0, n = PyLong_AsLong(count); all != NULL && i < n; i++) {
		PyObject *row = row_of(i);
		if (row == NULL || PyList_Append(all, row) != 0)
			Py_CLEAR(all);
		Py_XDECREF(row);
	}
	return all;
}

static PyMethodDef methods[] = { { "rows", rows, METH_O, NULL }, { NULL, NULL, 0, NULL } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "bare", NULL, -1, methods, NULL, NULL,
	NULL, NULL };

PyMODINIT_FUNC PyInit_bare(void)
{
	return PyModule_Create(&module);
}
