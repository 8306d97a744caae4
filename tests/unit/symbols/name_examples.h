/* SPDX-License-Identifier: MIT */
/* What bp_demangle is to make of names: tables of examples, and a check of each. */
#ifndef BP_TESTS_SYMBOLS_NAME_EXAMPLES_H
#define BP_TESTS_SYMBOLS_NAME_EXAMPLES_H

#include <stddef.h>

struct name_example {
	const char *system_name;
	const char *shown; /* NULL: as it is */
};

void check_names(const struct name_example *examples, size_t count);

#endif
