/* SPDX-License-Identifier: MIT */
/* See pprof_strings.h. */
#include "export/pprof_strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static uint32_t append(struct bp_pprof_strings *strings, struct bp_pprof_string string)
{
	if (!bp_vec_reserve(&strings->items, &strings->capacity, strings->count + 1ull,
		    sizeof *strings->items)) {
		strings->failed = true;
		free(string.own);
		return 0;
	}
	strings->items[strings->count] = string;
	return strings->count++;
}

bool bp_pprof_strings_init(struct bp_pprof_strings *strings, const struct bp_profile *profile)
{
	*strings = (struct bp_pprof_strings){ .profile = profile };
	strings->of_string = calloc((size_t)profile->strings.count + 1, sizeof *strings->of_string);
	if (strings->of_string == NULL)
		return false;
	append(strings, (struct bp_pprof_string){ 0 });
	return !strings->failed;
}

void bp_pprof_strings_finish(struct bp_pprof_strings *strings)
{
	for (uint32_t i = 0; i < strings->count; i++)
		free(strings->items[i].own);
	free(strings->items);
	free(strings->of_string);
	*strings = (struct bp_pprof_strings){ 0 };
}

uint32_t bp_pprof_strings_number(struct bp_pprof_strings *strings, struct bp_string_id string)
{
	if (*bp_profile_text(strings->profile, string) == '\0')
		return 0;
	if (strings->of_string[string.i] == 0)
		strings->of_string[string.i] =
			append(strings, (struct bp_pprof_string){ .id = string });
	return strings->of_string[string.i];
}

uint32_t bp_pprof_strings_add(struct bp_pprof_strings *strings, const char *text)
{
	char *own = strdup(text);
	if (own == NULL) {
		strings->failed = true;
		return 0;
	}
	return append(strings, (struct bp_pprof_string){ .own = own });
}
