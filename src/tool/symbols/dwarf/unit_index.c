/* SPDX-License-Identifier: MIT */
/*
 * All ranges of all compilation units, sorted by start, each with the largest end seen so far, so
 * that a look-up may stop as soon as nothing earlier can reach the address. Ranges of discarded
 * functions start outside every code section and are left out.
 */
#include "symbols/dwarf/unit_index.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "base/vec.h"
#include "symbols/dwarf/split_unit.h"

/* Bounds for hostile files: ranges of one unit, and of all. */
#define UNIT_RANGES_MAX (1u << 20)
#define RANGES_MAX (1u << 26)

static bool append_unit(struct bp_unit_index *index, Dwarf_CU *cu, const Dwarf_Die *die)
{
	if (!bp_vec_reserve(&index->units, &index->unit_capacity, index->unit_count + 1u,
		    sizeof *index->units))
		return false;
	index->units[index->unit_count++] = (struct bp_unit){ .cu = cu, .die = *die };
	return true;
}

static bool append_range(struct bp_unit_index *index, uint64_t low, uint64_t high)
{
	if (!bp_vec_reserve(&index->ranges, &index->range_capacity, index->range_count + 1u,
		    sizeof *index->ranges))
		return false;
	index->ranges[index->range_count++] =
		(struct bp_unit_range){ .low = low, .high = high, .unit = index->unit_count - 1 };
	return true;
}

static bool add_unit_ranges(
	struct bp_unit_index *index, Dwarf_Die *die, const struct bp_code_sections *sections)
{
	Dwarf_Addr base = 0, low = 0, high = 0;
	ptrdiff_t position = 0;
	uint32_t seen = 0;
	while (seen++ < UNIT_RANGES_MAX && index->range_count < RANGES_MAX) {
		position = dwarf_ranges(die, position, &base, &low, &high);
		if (position <= 0)
			return true;
		if (low >= high || bp_code_sections_find(sections, low) == NULL)
			continue;
		if (!append_range(index, low, high))
			return false;
	}
	return true;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct bp_unit_range *a = left, *b = right;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high > b->high ? -1
					 : 1; /* the wider first: the narrower is found first */
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static void sort_ranges(struct bp_unit_index *index)
{
	uint64_t reach = 0;
	if (index->range_count > 1)
		qsort(index->ranges, index->range_count, sizeof *index->ranges, compare_ranges);
	for (uint32_t i = 0; i < index->range_count; i++) {
		if (index->ranges[i].high > reach)
			reach = index->ranges[i].high;
		index->ranges[i].reach = reach;
	}
}

bool bp_unit_index_init(
	struct bp_unit_index *index, Dwarf *dwarf, const struct bp_code_sections *sections)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;
	*index = (struct bp_unit_index){ 0 };
	/* No sub-DIE is asked for: that would open the files of all split units at once. */
	while (dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (!append_unit(index, cu, &die))
			return false;
		if (!add_unit_ranges(index, &index->units[index->unit_count - 1].die, sections))
			return false;
	}
	sort_ranges(index);
	return true;
}

void bp_unit_index_finish(struct bp_unit_index *index)
{
	free(index->units);
	free(index->ranges);
	*index = (struct bp_unit_index){ 0 };
}

const struct bp_unit *bp_unit_index_find(const struct bp_unit_index *index, uint64_t address)
{
	const uint32_t upto =
		bp_sorted_upto(index->ranges, sizeof *index->ranges, index->range_count, address);
	for (uint32_t i = upto; i > 0 && index->ranges[i - 1].reach > address; i--)
		if (index->ranges[i - 1].high > address)
			return &index->units[index->ranges[i - 1].unit];
	return NULL;
}

Dwarf_Die bp_unit_tree(const struct bp_unit *unit, const struct bp_dwarf_package *package)
{
	Dwarf_Die tree = { 0 }, die = unit->die;
	uint8_t type;
	bp_split_unit_attach(package, unit->cu, &die);
	if (dwarf_cu_info(unit->cu, NULL, &type, NULL, &tree, NULL, NULL, NULL) == 0 &&
		type == DW_UT_skeleton && dwarf_tag(&tree) == DW_TAG_compile_unit)
		return tree;
	return unit->die;
}

bool bp_unit_lacks_split(const struct bp_unit *unit)
{
	Dwarf_Die tree = { 0 };
	uint8_t type;
	return dwarf_cu_info(unit->cu, NULL, &type, NULL, &tree, NULL, NULL, NULL) == 0 &&
	       type == DW_UT_skeleton && dwarf_tag(&tree) != DW_TAG_compile_unit;
}
