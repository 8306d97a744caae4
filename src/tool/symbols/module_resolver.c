/* SPDX-License-Identifier: MIT */
/*
 * One module from top to bottom: open its files, index the units, take the addresses in order of
 * their unit so that each unit's tree is walked once, and make the frames of each address: the
 * innermost function at the line of the line table, its callers at their call lines. What debug
 * information does not cover falls to the symbol table, then to the linkage stubs, then to nobody.
 */
#include "symbols/module_resolver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle/demangle.h"
#include "symbols/demangle/local_name.h"
#include "symbols/dwarf/code_sections.h"
#include "symbols/dwarf/inline.h"
#include "symbols/dwarf/line_program.h"
#include "symbols/dwarf/unit_index.h"
#include "symbols/files/frame_cache.h"
#include "symbols/files/module_file.h"
#include "symbols/plt.h"
#include "symbols/symbol_table.h"

/* A walk of a part of the unit for each: some milliseconds of a large one. */
#define LOCAL_NAMES_MAX 2000u

struct resolver {
	const struct bp_module_request *request;
	bp_frames_found found;
	void *context;
	struct bp_module_file file;
	struct bp_code_sections sections;
	struct bp_symbol_table symbols;
	struct bp_unit_index units;
	struct bp_scope_table scopes; /* of the unit at hand */
	/* Of each address, with its place in the request; sorted by unit, then address. */
	struct task {
		uint64_t address;
		uint32_t index;
		uint32_t unit; /* 0: none; else its number + 1 */
	} * tasks;
	/* Of the unit at hand, one of each per task. */
	uint64_t *unit_addresses;
	uint32_t *scope_of;
	struct bp_line *lines;
	struct bp_line_section line_section;
	struct bp_frame_cache cache;
	uint32_t local_names; /* looked for so far */
	bool *settled;	      /* of each address asked: answered, or not to be kept */
	bool keep;	      /* answers of the unit at hand may be kept */
};

/* Gives the frames of an address to whoever asked, and to the cache. */
static bool give(struct resolver *resolver, uint32_t index, const struct bp_found_frame *frames,
	uint32_t count)
{
	resolver->settled[index] = true;
	if (resolver->keep)
		bp_frame_cache_add(
			&resolver->cache, resolver->request->addresses[index], frames, count);
	return resolver->found(resolver->context, index, frames, count);
}

static int compare_tasks(const void *left, const void *right)
{
	const struct task *a = left, *b = right;
	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Frames of an address without debug information, or with a line but no function. */
static bool found_by_symbol(
	struct resolver *resolver, const struct task *task, const struct bp_found_frame *line)
{
	struct bp_found_frame frame = *line;
	char *demangled = NULL, stub[1024];
	const char *name = NULL;
	const struct bp_symbol *symbol = bp_symbol_table_find(&resolver->symbols, task->address);
	bool going_on = true;
	if (symbol != NULL) {
		demangled = bp_demangle(symbol->name);
		frame.system_name = symbol->name;
		frame.function = demangled != NULL ? demangled : symbol->name;
	} else if (resolver->file.own.elf != NULL) {
		name = bp_plt_find(resolver->file.own.elf, task->address);
		if (name != NULL) {
			demangled = bp_demangle(name);
			snprintf(stub, sizeof stub, "%s@plt", demangled != NULL ? demangled : name);
			frame.function = stub;
		}
	}
	if (frame.function[0] != '\0' || frame.source_file[0] != '\0')
		going_on = give(resolver, task->index, &frame, 1);
	free(demangled);
	return going_on;
}

/* File and line of the innermost frame. */
static void name_line(
	const struct bp_unit *unit, const struct bp_line *line, struct bp_found_frame *frame)
{
	Dwarf_Die die = unit->die;
	Dwarf_Files *files = NULL;
	size_t file_count = 0;
	const char *file = NULL;
	if (!line->known || dwarf_getsrcfiles(&die, &files, &file_count) != 0 ||
		line->file >= file_count)
		return;
	file = dwarf_filesrc(files, line->file, NULL, NULL);
	if (file == NULL)
		return;
	frame->line = line->line;
	frame->source_file = file;
}

/* Is `plain` ("sort<int*>", as debug information has it) written in the mangled name? */
static bool contains_name(const char *mangled, const char *plain)
{
	char name[256];
	size_t bytes = strcspn(plain, "<");
	if (bytes == 0 || bytes >= sizeof name)
		return false;
	memcpy(name, plain, bytes);
	name[bytes] = '\0';
	return strstr(mangled, name) != NULL;
}

/* A C++ function whose debug entry has no linkage name (gcc leaves it out where a lambda is a
 * template argument), though the symbol table knows it: a mangled symbol is taken if it begins
 * where the function begins, or contains its plain name. */
static void borrow_linkage_name(struct resolver *resolver, struct bp_scope *scope, uint64_t address)
{
	const struct bp_symbol *symbol = NULL;
	Dwarf_Addr entry = 0;
	if (scope->linkage || scope->caller != BP_SCOPE_NONE)
		return;
	symbol = bp_symbol_table_find(&resolver->symbols, address);
	if (symbol == NULL || strncmp(symbol->name, "_Z", 2) != 0)
		return;
	if (!contains_name(symbol->name, scope->system_name) &&
		(dwarf_entrypc(&scope->die, &entry) != 0 || entry != symbol->low))
		return;
	scope->system_name = symbol->name;
	scope->linkage = true;
}

static void name_frame(struct resolver *resolver, struct bp_scope *scope, uint64_t address,
	struct bp_found_frame *frame)
{
	if (scope->display_name == NULL) {
		borrow_linkage_name(resolver, scope, address);
		if (!scope->linkage && bp_is_bare_call_operator(scope->system_name) &&
			resolver->local_names++ < LOCAL_NAMES_MAX)
			scope->display_name = bp_local_name(&scope->die);
		if (scope->display_name == NULL)
			scope->display_name = bp_demangle(scope->system_name);
	}
	frame->system_name = scope->system_name;
	frame->function = scope->display_name != NULL ? scope->display_name : scope->system_name;
}

static bool found_by_scope(struct resolver *resolver, const struct task *task,
	const struct bp_found_frame *line, Dwarf_Die *tree, uint32_t scope)
{
	struct bp_found_frame frames[BP_FRAMES_MAX];
	uint32_t count = 0;
	frames[0] = *line;
	while (scope != BP_SCOPE_NONE && count < BP_FRAMES_MAX) {
		struct bp_scope *at = &resolver->scopes.data[scope];
		name_frame(resolver, at, task->address, &frames[count]);
		count++;
		if (at->caller != BP_SCOPE_NONE && count < BP_FRAMES_MAX) {
			frames[count] = (struct bp_found_frame){ "", "", "", 0 };
			bp_scope_call_site(
				at, tree, &frames[count].source_file, &frames[count].line);
		}
		scope = at->caller;
	}
	return give(resolver, task->index, frames, count);
}

/* The tasks of one unit (or of none). */
static bool resolve_unit(struct resolver *resolver, const struct task *tasks, uint32_t count)
{
	const struct bp_unit *unit = NULL;
	Dwarf_Die tree = { 0 }, die;
	resolver->keep = true;
	if (tasks[0].unit != 0) {
		unit = &resolver->units.units[tasks[0].unit - 1];
		tree = bp_unit_tree(unit, &resolver->file.package);
		resolver->keep = !bp_unit_lacks_split(unit);
		for (uint32_t i = 0; i < count; i++)
			resolver->unit_addresses[i] = tasks[i].address;
		if (!bp_scopes_find(&resolver->scopes, &tree, resolver->unit_addresses, count,
			    &resolver->sections, resolver->scope_of))
			return false;
		die = unit->die;
		bp_lines_find(&resolver->line_section, &die, resolver->unit_addresses, count,
			&resolver->sections, resolver->lines);
	}
	for (uint32_t i = 0; i < count; i++) {
		struct bp_found_frame line = { "", "", "", 0 };
		bool going_on;
		if (unit != NULL)
			name_line(unit, &resolver->lines[i], &line);
		if (unit != NULL && resolver->scope_of[i] != BP_SCOPE_NONE)
			going_on = found_by_scope(
				resolver, &tasks[i], &line, &tree, resolver->scope_of[i]);
		else
			going_on = found_by_symbol(resolver, &tasks[i], &line);
		if (!going_on)
			return false;
		resolver->settled[tasks[i].index] |= !resolver->keep;
	}
	return true;
}

static bool resolve_tasks(struct resolver *resolver, uint32_t count)
{
	uint32_t first = 0;
	while (first < count) {
		uint32_t end = first + 1;
		while (end < count && resolver->tasks[end].unit == resolver->tasks[first].unit)
			end++;
		if (!resolve_unit(resolver, resolver->tasks + first, end - first))
			return false;
		first = end;
	}
	return true;
}

/* The addresses that are in code at all, with their units. */
static bool make_tasks(struct resolver *resolver, uint32_t *ret_count)
{
	uint32_t asked = resolver->request->count, count = 0;
	resolver->tasks = calloc(asked, sizeof *resolver->tasks);
	resolver->unit_addresses = calloc(asked, sizeof *resolver->unit_addresses);
	resolver->scope_of = calloc(asked, sizeof *resolver->scope_of);
	resolver->lines = calloc(asked, sizeof *resolver->lines);
	if (resolver->tasks == NULL || resolver->unit_addresses == NULL ||
		resolver->scope_of == NULL || resolver->lines == NULL)
		return false;
	for (uint32_t i = 0; i < asked; i++) {
		uint64_t address = resolver->request->addresses[i];
		const struct bp_unit *unit = NULL;
		if (resolver->settled[i] ||
			bp_code_sections_find(&resolver->sections, address) == NULL)
			continue;
		unit = bp_unit_index_find(&resolver->units, address);
		resolver->tasks[count++] = (struct task){
			.address = address,
			.index = i,
			.unit = unit == NULL ? 0 : (uint32_t)(unit - resolver->units.units) + 1,
		};
	}
	qsort(resolver->tasks, count, sizeof *resolver->tasks, compare_tasks);
	*ret_count = count;
	return true;
}

/* The full symbol table, of whichever file has one; else the exported names. */
static bool read_symbols(struct resolver *resolver)
{
	Elf *files[] = { resolver->file.own.elf, resolver->file.debug.elf };
	for (size_t i = 0; i < 2 && !resolver->symbols.full; i++) {
		struct bp_symbol_table table;
		if (files[i] == NULL)
			continue;
		if (!bp_symbol_table_init(&table, files[i], &resolver->sections)) {
			bp_symbol_table_finish(&table);
			return false;
		}
		if (table.full || resolver->symbols.count == 0) {
			bp_symbol_table_finish(&resolver->symbols);
			resolver->symbols = table;
		} else {
			bp_symbol_table_finish(&table);
		}
	}
	return true;
}

/* Answers what the cache knows; `*ret_left` tells how many addresses it does not. */
static bool answer_from_cache(struct resolver *resolver, uint32_t *ret_left)
{
	const struct bp_module_request *request = resolver->request;
	struct bp_found_frame frames[BP_FRAMES_MAX];
	uint32_t count = 0;
	*ret_left = request->count;
	if (!request->cache || request->build_id[0] == '\0')
		return true;
	bp_frame_cache_open(&resolver->cache, request->build_id,
		bp_module_file_identity(&resolver->file, request));
	for (uint32_t i = 0; i < request->count; i++) {
		if (!bp_frame_cache_find(&resolver->cache, request->addresses[i], frames, &count))
			continue;
		resolver->settled[i] = true;
		--*ret_left;
		if (count > 0 && !resolver->found(resolver->context, i, frames, count))
			return false;
	}
	return true;
}

/* That an address has no frames is worth keeping, too. */
static void keep_answers(struct resolver *resolver)
{
	const struct bp_module_request *request = resolver->request;
	for (uint32_t i = 0; i < request->count; i++)
		if (!resolver->settled[i])
			bp_frame_cache_add(&resolver->cache, request->addresses[i], NULL, 0);
	bp_frame_cache_save(&resolver->cache, resolver->file.answer.stripped);
}

static bool resolve_open_file(struct resolver *resolver)
{
	struct bp_module_file *file = &resolver->file;
	uint32_t count = 0, left = 0;
	resolver->settled = calloc(resolver->request->count, sizeof *resolver->settled);
	if (resolver->settled == NULL || !answer_from_cache(resolver, &left))
		return false;
	if (left == 0) {
		file->answer.stripped = resolver->cache.stored.stripped;
		return true;
	}
	if (!bp_code_sections_init(
		    &resolver->sections, file->own.elf != NULL ? file->own.elf : file->debug.elf))
		return false;
	if (!read_symbols(resolver))
		return false;
	file->answer.stripped = file->dwarf == NULL && !resolver->symbols.full;
	if (file->dwarf != NULL) {
		resolver->line_section = bp_line_section_of(file->dwarf);
		if (!bp_unit_index_init(&resolver->units, file->dwarf, &resolver->sections))
			return false;
	}
	if (!make_tasks(resolver, &count) || !resolve_tasks(resolver, count))
		return false;
	keep_answers(resolver);
	return true;
}

bool bp_module_resolve(const struct bp_module_request *request, bp_frames_found found,
	void *context, struct bp_module_answer *ret_answer)
{
	struct resolver resolver = {
		.request = request, .found = found, .context = context, .cache.directory = -1
	};
	bool done = true;
	bp_module_file_open(&resolver.file, request);
	if (resolver.file.answer.state == BP_MODULE_READ && request->count > 0)
		done = resolve_open_file(&resolver);
	if (done)
		*ret_answer = resolver.file.answer;
	free(resolver.tasks);
	free(resolver.unit_addresses);
	free(resolver.scope_of);
	free(resolver.lines);
	free(resolver.settled);
	bp_frame_cache_finish(&resolver.cache);
	bp_scope_table_finish(&resolver.scopes);
	bp_unit_index_finish(&resolver.units);
	bp_symbol_table_finish(&resolver.symbols);
	bp_code_sections_finish(&resolver.sections);
	bp_module_file_finish(&resolver.file);
	return done;
}
