/* SPDX-License-Identifier: MIT */
/* See smaps.h. The text has a head line for each mapping, then lines "Name: NUMBER kB". */
#include "cli/mappings/smaps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bp_smaps_finish(struct bp_smaps *smaps)
{
	for (uint32_t i = 0; i < smaps->count; i++)
		free(smaps->items[i].name);
	free(smaps->items);
	memset(smaps, 0, sizeof *smaps);
}

static bool add(struct bp_smaps *smaps, const struct bp_smap *map, const char *name)
{
	/* The kernel goes on by address: a mapping that has grown meanwhile is listed again. */
	while (smaps->count > 0 && smaps->items[smaps->count - 1].end > map->start)
		free(smaps->items[--smaps->count].name);
	if (smaps->count == smaps->capacity) {
		const uint32_t capacity = smaps->capacity == 0 ? 256 : smaps->capacity * 2;
		struct bp_smap *items =
			capacity > BP_SMAPS_MAX
				? NULL
				: realloc(smaps->items, capacity * sizeof *smaps->items);
		if (items == NULL)
			return false;
		smaps->items = items;
		smaps->capacity = capacity;
	}
	smaps->items[smaps->count] = *map;
	smaps->items[smaps->count].name = strdup(name);
	return smaps->items[smaps->count++].name != NULL;
}

/* The head line of a mapping; `*ret_name` points into the line. */
static bool parse_head(char *line, struct bp_smap *ret_map, char **ret_name)
{
	struct bp_smap map = { 0 };
	char rights[5];
	int name = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64 " %n", &map.start,
		    &map.end, rights, &map.inode, &name) < 4 ||
		name == 0 || map.end <= map.start)
		return false;
	map.readable = rights[0] == 'r';
	map.writable = rights[1] == 'w';
	map.executable = rights[2] == 'x';
	map.shared = rights[3] == 's';
	line[strcspn(line, "\n")] = '\0';
	*ret_map = map;
	*ret_name = line + name;
	return true;
}

/* A line about a mapping. */
static void parse_line(const char *line, struct bp_smap *map)
{
	uint64_t kibibytes;
	if (sscanf(line, "Rss: %" SCNu64, &kibibytes) == 1)
		map->resident_bytes = kibibytes * 1024;
	else if (sscanf(line, "Swap: %" SCNu64, &kibibytes) == 1)
		map->swapped_bytes = kibibytes * 1024;
	else if (strncmp(line, "VmFlags:", 8) == 0) {
		map->no_huge = strstr(line, " nh") != NULL;
		map->wipe_on_fork = strstr(line, " wf") != NULL;
	}
}

bool bp_smaps_read(pid_t pid, struct bp_smaps *ret_smaps)
{
	struct bp_smaps smaps = { 0 };
	struct bp_smap map;
	char path[64], *line = NULL, *name;
	size_t room = 0;
	bool good = true;
	snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
	FILE *in = fopen(path, "re");
	if (in == NULL)
		return false;
	while (good && getline(&line, &room, in) > 0) {
		if (parse_head(line, &map, &name))
			good = add(&smaps, &map, name);
		else if (smaps.count > 0)
			parse_line(line, &smaps.items[smaps.count - 1]);
	}
	good = good && !ferror(in) && smaps.count > 0;
	free(line);
	fclose(in);
	if (good)
		*ret_smaps = smaps;
	else
		bp_smaps_finish(&smaps);
	return good;
}
