/* SPDX-License-Identifier: MIT */
/* See pages_look.h. */
#include "cli/mappings/pages_look.h"

#include <string.h>

static bool is_wanted(const struct bp_smap *map)
{
	return !map->no_huge && (bp_smap_is_anonymous(map) || strcmp(map->name, "[heap]") == 0);
}

bool bp_pages_look(
	struct bp_page_reader *reader, const struct bp_smaps *smaps, struct bp_pages *ret_pages)
{
	struct bp_pages pages = { 0 };
	bool good = true;
	for (uint32_t i = 0; good && i < smaps->count; i++) {
		const struct bp_smap *map = &smaps->items[i];
		if (is_wanted(map))
			good = bp_page_runs_add(&pages.looked, map->start, map->end) &&
			       bp_page_reader_present(reader, map->start, map->end, &pages.present);
	}
	if (good)
		*ret_pages = pages;
	else
		bp_pages_finish(&pages);
	return good;
}
