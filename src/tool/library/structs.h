/* SPDX-License-Identifier: MIT */
/*
 * The structs of the public header across versions, errors as values, and numbers as in the C
 * locale: what every public function begins or ends with. A struct of a caller begins with its own
 * size (size_t); what it does not hold yet is zero, what it holds too much must be.
 */
#ifndef BP_LIBRARY_STRUCTS_H
#define BP_LIBRARY_STRUCTS_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "bytepoll/analysis.h"

/* Copies a caller's struct into one of `bytes`, the size this library knows. `from` NULL: zeros.
 * False: its size is not set, or it asks for what only a later library knows; `what` names it for
 * the error. */
bool bp_struct_take(
	void *to, size_t bytes, const void *from, const char *what, struct bytepoll_error *error);

/* Copies what this library knows into a caller's struct. False: its size is not set. */
bool bp_struct_give(void *to, const void *from, size_t bytes);

/* Sets an error and returns false; NULL is fine. A lack of memory is known by its text. */
bool bp_call_failed(
	struct bytepoll_error *error, enum bytepoll_error_kind kind, const struct bp_error *reason);
BP_PRINTF(2, 3)
bool bp_call_wrong(struct bytepoll_error *error, const char *format, ...);

/* While a call reads or writes numbers: bp_locale_leave undoes it, for this thread alone. */
struct bp_plain_locale {
	locale_t plain, before;
};
struct bp_plain_locale bp_locale_enter(void);
void bp_locale_leave(struct bp_plain_locale locale);

#endif
