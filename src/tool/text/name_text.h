/* SPDX-License-Identifier: MIT */
/*
 * Names of functions, made short. The middle of a C++ name is where the function stands: cut there,
 * all that is left of `std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(...)`
 * is what is the same in a hundred others. So a name that does not fit loses what tells least
 * first, and a mark stands where something went:
 *
 *	1. template arguments within arguments	std::map<int, std::less<…>>::find(int const&)
 *	2. parameters				std::map<int, std::less<…>>::find(…)
 *	3. all template arguments		std::map<…>::find(…)
 *	4. the type it returns, then namespaces and classes from the outermost one on	…::find(…)
 *	5. what stands behind the last name	…::find, then find
 *
 * The last part of the name stays as long as it fits by itself; of a closure (`{lambda(int)#1}`,
 * `{{closure}}`) what it is in belongs to it, and its `operator()` goes before that. Names of other
 * shapes (C, addresses, paths, brackets that do not match) are cut in the middle as any other text.
 *
 * A pure function on bytes of any kind, safe from any thread; called by the reports for people.
 */
#ifndef BP_TEXT_NAME_TEXT_H
#define BP_TEXT_NAME_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* As bp_terminal_text (escape.h), for the name of a function: writes it for a terminal, terminated,
 * into `buffer`, in at most `columns` columns where they are enough for a mark. Returns the columns
 * it takes. */
unsigned bp_terminal_name(
	const char *name, bool utf8, unsigned columns, char *buffer, size_t buffer_bytes);

#endif
