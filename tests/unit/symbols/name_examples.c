/* SPDX-License-Identifier: MIT */
/* See name_examples.h. */
#include "name_examples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "symbols/demangle/demangle.h"

void check_names(const struct name_example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *shown = bp_demangle(examples[i].system_name);
		if (examples[i].shown == NULL && shown != NULL)
			fail_msg("%s became %s", examples[i].system_name, shown);
		if (examples[i].shown != NULL && shown == NULL)
			fail_msg("%s stays as it is", examples[i].system_name);
		if (shown != NULL)
			assert_string_equal(shown, examples[i].shown);
		free(shown);
	}
}
