/* SPDX-License-Identifier: MIT */
/* Groups of mappings: see mappings.h. There are few groups, so that a search goes through all. */
#include "resident/mappings.h"

#include <stdlib.h>
#include <string.h>

#define BP_MAPPING_WORD(name, word) word,
const char *const bp_mapping_kind_words[BP_MAPPING_KIND_COUNT] = { BP_MAPPING_KINDS(
	BP_MAPPING_WORD) };
#undef BP_MAPPING_WORD

void bp_mapping_cut_finish(struct bp_mapping_cut *cut)
{
	for (uint32_t i = 0; i < cut->group_count; i++)
		free(cut->groups[i].name);
	free(cut->groups);
	memset(cut, 0, sizeof *cut);
}

void bp_mappings_finish(struct bp_mappings *mappings)
{
	for (int i = 0; i < BP_MAPPINGS_MOMENTS; i++)
		bp_mapping_cut_finish(&mappings->cuts[i]);
	memset(mappings, 0, sizeof *mappings);
}

static struct bp_mapping_group *find(
	struct bp_mapping_cut *cut, enum bp_mapping_kind kind, const char *name)
{
	for (uint32_t i = 0; i < cut->group_count; i++)
		if (cut->groups[i].kind == kind && strcmp(cut->groups[i].name, name) == 0)
			return &cut->groups[i];
	return NULL;
}

static struct bp_mapping_group *make(
	struct bp_mapping_cut *cut, enum bp_mapping_kind kind, const char *name)
{
	if (cut->groups == NULL)
		cut->groups = calloc(BP_MAPPING_GROUPS_MAX, sizeof *cut->groups);
	if (cut->groups == NULL)
		return NULL;
	struct bp_mapping_group *group = &cut->groups[cut->group_count];
	group->kind = kind;
	group->name = strndup(name, BP_MAPPING_NAME_MAX);
	if (group->name == NULL)
		return NULL;
	cut->group_count++;
	return group;
}

bool bp_mapping_cut_add(struct bp_mapping_cut *cut, enum bp_mapping_kind kind, const char *name,
	const struct bp_mapping_group *amount)
{
	struct bp_mapping_group *group = find(cut, kind, name);
	/* One place for each kind is kept for what has no place of its own. */
	if (group == NULL && cut->group_count >= BP_MAPPING_GROUPS_MAX - BP_MAPPING_KIND_COUNT) {
		name = "";
		group = find(cut, kind, name);
	}
	if (group == NULL)
		group = make(cut, kind, name);
	if (group == NULL)
		return false;
	group->count += amount->count;
	group->size_bytes += amount->size_bytes;
	group->resident_bytes += amount->resident_bytes;
	group->swapped_bytes += amount->swapped_bytes;
	return true;
}

struct bp_mapping_group bp_mapping_cut_of_kind(
	const struct bp_mapping_cut *cut, enum bp_mapping_kind kind)
{
	struct bp_mapping_group sum = { .kind = kind };
	for (uint32_t i = 0; i < cut->group_count; i++) {
		const struct bp_mapping_group *group = &cut->groups[i];
		if (group->kind != kind)
			continue;
		sum.count += group->count;
		sum.size_bytes += group->size_bytes;
		sum.resident_bytes += group->resident_bytes;
		sum.swapped_bytes += group->swapped_bytes;
	}
	return sum;
}

uint64_t bp_mapping_cut_resident(const struct bp_mapping_cut *cut)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < cut->group_count; i++)
		sum += cut->groups[i].resident_bytes;
	return sum;
}

bool bp_mapping_cut_copy(const struct bp_mapping_cut *cut, struct bp_mapping_cut *ret_copy)
{
	struct bp_mapping_cut copy = *cut;
	copy.groups = NULL;
	copy.group_count = 0;
	*ret_copy = (struct bp_mapping_cut){ 0 };
	for (uint32_t i = 0; i < cut->group_count; i++)
		if (!bp_mapping_cut_add(
			    &copy, cut->groups[i].kind, cut->groups[i].name, &cut->groups[i])) {
			bp_mapping_cut_finish(&copy);
			return false;
		}
	*ret_copy = copy;
	return true;
}
