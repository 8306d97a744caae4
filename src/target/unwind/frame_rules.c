/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame read in place (DWARF 4 section 6.4, LSB 5 chapter 10):
 *
 *   .eh_frame_hdr   sorted table of (function start, FDE)        binary search
 *   FDE             [start, length) and instructions             must cover the pc
 *   CIE             alignment factors, encodings, first instructions
 *
 * The instructions are a small program that builds a row of rules as the location advances; it is
 * run up to the pc. Only the encodings that linkers write are understood: a table of pairs of
 * 32-bit offsets from the header, pointers of 4 or 8 bytes, absolute or relative to themselves.
 * Anything else, and anything that would read outside the module, ends the walk, never the program.
 * A module may have holes between its segments, which the loader leaves inaccessible: nothing is
 * read beyond those that join the one with the header.
 */
#include "unwind/frame_rules.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/attributes.h"
#include "unwind/loaded_objects.h"
#include "unwind/machine.h"

/* _dl_find_object and struct dl_find_object, which came with glibc 2.35: declared here by names of
 * our own, so that older headers will do. */
struct found_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};
extern int find_object(void *address, struct found_object *ret_found) __asm__("_dl_find_object")
	__attribute__((weak));

/* A cursor over one module's tables; `failed` sticks. */
struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

static bool ask_loader(uintptr_t pc, struct bp_module_range *ret_range)
{
	struct found_object found;
	if (bp_unlikely(find_object((void *)pc, &found) != 0))
		return false;
	ret_range->start = (uintptr_t)found.map_start;
	ret_range->end = (uintptr_t)found.map_end;
	ret_range->frame_header = found.eh_frame;
	ret_range->link_map = found.link_map;
	return true;
}

/* glibc 2.32's; 1: the process has one thread. */
extern char single_threaded __asm__("__libc_single_threaded") __attribute__((weak));

static bool has_one_thread(void)
{
	return &single_threaded != NULL ? __atomic_load_n(&single_threaded, __ATOMIC_RELAXED) != 0
					: bp_machine_has_one_thread();
}

/* The loader's lock is not waited for where another thread may have it: that thread may be in the
 * constructor of a library, and wait for this one. */
static bool look_and_find(uintptr_t pc, struct bp_module_range *ret_range)
{
	if (bp_loaded_objects_find(pc, ret_range))
		return true;
	if (!has_one_thread())
		return false;
	bp_loaded_objects_look();
	return bp_loaded_objects_find(pc, ret_range);
}

static bool choose(uintptr_t pc, struct bp_module_range *ret_range);

/* One of the two, chosen at the first call: a jump, since stacks ask often. */
static bool (*find_range)(uintptr_t pc, struct bp_module_range *ret_range) = choose;

static bool choose(uintptr_t pc, struct bp_module_range *ret_range)
{
	bool (*const chosen)(uintptr_t, struct bp_module_range *) =
		find_object != NULL ? ask_loader : look_and_find;
	__atomic_store_n(&find_range, chosen, __ATOMIC_RELAXED);
	return chosen(pc, ret_range);
}

bool bp_module_range_find(uintptr_t pc, struct bp_module_range *ret_range)
{
	return __atomic_load_n(&find_range, __ATOMIC_RELAXED)(pc, ret_range);
}

bool bp_module_range_known(uintptr_t pc, struct bp_module_range *ret_range)
{
	return find_object != NULL ? ask_loader(pc, ret_range)
				   : bp_loaded_objects_find(pc, ret_range);
}

void bp_module_ranges_look(void)
{
	if (find_object == NULL)
		bp_loaded_objects_look_again();
}

static inline uint64_t get(struct cursor *cursor, unsigned bytes)
{
	uint64_t value = 0;
	if ((size_t)(cursor->end - cursor->at) < bytes) {
		cursor->failed = true;
		cursor->at = cursor->end;
		return 0;
	}
	__builtin_memcpy(&value, cursor->at, bytes);
	cursor->at += bytes;
	return value;
}

static int64_t get_signed(struct cursor *cursor, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;
	return (int64_t)(get(cursor, bytes) << shift) >> shift;
}

static uint64_t get_long_uleb(struct cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint64_t byte = get(cursor, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return value;
	}
	cursor->failed = true;
	return 0;
}

static inline uint64_t get_uleb(struct cursor *cursor)
{
	if (bp_likely(cursor->at < cursor->end && *cursor->at < 0x80))
		return *cursor->at++;
	return get_long_uleb(cursor);
}

static int64_t get_sleb(struct cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint64_t byte = get(cursor, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0) {
			if (shift + 7 < 64 && (byte & 0x40) != 0)
				value |= ~(uint64_t)0 << (shift + 7);
			return (int64_t)value;
		}
	}
	cursor->failed = true;
	return 0;
}

/* A pointer in one of the DW_EH_PE encodings: low nibble its size, 0x10 relative to itself. */
static uint64_t get_pointer(struct cursor *cursor, uint8_t encoding)
{
	const uint64_t self = (uint64_t)cursor->at;
	uint64_t value;
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = get(cursor, 8);
		break;
	case 0x03:
		value = get(cursor, 4);
		break;
	case 0x0b:
		value = (uint64_t)get_signed(cursor, 4);
		break;
	default:
		cursor->failed = true;
		return 0;
	}
	switch (encoding & 0xf0) {
	case 0x00:
		return value;
	case 0x10:
		return value + self;
	default:
		cursor->failed = true;
		return 0;
	}
}

/* The entry body that starts at `at`: its length is checked against the module. */
static struct cursor entry_at(const struct bp_module_range *range, uintptr_t at)
{
	struct cursor cursor = { .at = (const uint8_t *)at, .end = (const uint8_t *)range->end };
	if (at < range->start || at >= range->end) {
		cursor.failed = true;
		cursor.at = cursor.end;
		return cursor;
	}
	uint64_t length = get(&cursor, 4);
	if (length == 0 ||
		length > (uint64_t)(cursor.end - cursor.at)) /* 0xffffffff: 64-bit form */
		cursor.failed = true;
	else
		cursor.end = cursor.at + length;
	return cursor;
}

/* What stands before a CIE's instructions; the cursor is then at them. */
static bool read_cie(struct cursor *cursor, struct bp_cie *ret_cie)
{
	*ret_cie = (struct bp_cie){ 0 };
	if (get(cursor, 4) != 0)
		return false;
	uint64_t version = get(cursor, 1);
	const uint8_t *augmentation = cursor->at;
	while (get(cursor, 1) != 0)
		;
	ret_cie->code_factor = get_uleb(cursor);
	ret_cie->data_factor = get_sleb(cursor);
	uint64_t return_register = version == 1 ? get(cursor, 1) : get_uleb(cursor);
	if (cursor->failed || return_register != BP_RETURN)
		return false;
	if (augmentation[0] == 'z') {
		ret_cie->augmented = true;
		uint64_t bytes = get_uleb(cursor);
		const uint8_t *next = cursor->at + bytes;
		if (bytes > (uint64_t)(cursor->end - cursor->at))
			return false;
		for (const uint8_t *letter = augmentation + 1; *letter != 0; letter++) {
			if (*letter == 'R')
				ret_cie->pointer_encoding = (uint8_t)get(cursor, 1);
			else if (*letter == 'P')
				(void)get_pointer(cursor, (uint8_t)(get(cursor, 1) & 0x7f));
			else if (*letter == 'L')
				(void)get(cursor, 1);
			else if (*letter == 'S')
				ret_cie->signal_frame = true;
		}
		cursor->at = next;
	} else if (augmentation[0] != 0) {
		return false;
	}
	return !cursor->failed;
}

/* Address of the FDE whose function starts last before or at pc; 0 if none. */
static uintptr_t search(const struct bp_module_range *range, uintptr_t pc)
{
	const uint8_t *header = range->frame_header;
	if ((uintptr_t)header < range->start || (uintptr_t)header + 12 > range->end)
		return 0;
	struct cursor cursor = { .at = header, .end = (const uint8_t *)range->end };
	uint64_t version = get(&cursor, 1);
	uint8_t frame_encoding = (uint8_t)get(&cursor, 1);
	uint8_t count_encoding = (uint8_t)get(&cursor, 1);
	uint8_t table_encoding = (uint8_t)get(&cursor, 1);
	(void)get_pointer(&cursor, frame_encoding);
	uint64_t count = get_pointer(&cursor, count_encoding);
	if (cursor.failed || version != 1 || table_encoding != 0x3b || count == 0 ||
		count > (uint64_t)(cursor.end - cursor.at) / 8)
		return 0;
	const uint8_t *table = cursor.at;
	uint64_t low = 0, high = count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int32_t start;
		__builtin_memcpy(&start, table + 8 * middle, 4);
		if ((uintptr_t)header + (uintptr_t)(intptr_t)start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	int32_t offset;
	__builtin_memcpy(&offset, table + 8 * (low - 1) + 4, 4);
	return (uintptr_t)header + (uintptr_t)(intptr_t)offset;
}

static void set_rule(struct bp_frame_row *row, uint64_t number, uint8_t kind, int64_t value)
{
	if (number < BP_REGISTERS)
		row->rules[number] = (struct bp_rule){ .kind = kind, .value = value };
}

static struct bp_expression get_expression(struct cursor *cursor)
{
	uint64_t bytes = get_uleb(cursor);
	struct bp_expression expression = { cursor->at, (uint32_t)bytes };
	if (bytes > (uint64_t)(cursor->end - cursor->at)) {
		cursor->failed = true;
		return (struct bp_expression){ 0 };
	}
	cursor->at += bytes;
	return expression;
}

static void set_expression(struct bp_frame_row *row, struct cursor *cursor, uint8_t kind)
{
	uint64_t number = get_uleb(cursor);
	struct bp_expression expression = get_expression(cursor);
	if (number < BP_REGISTERS)
		row->rules[number] = (struct bp_rule){ .kind = kind, .expression = expression };
}

static void restore(struct bp_frame_scratch *scratch, uint64_t number)
{
	if (number < BP_REGISTERS)
		scratch->row.rules[number] = scratch->initial.rules[number];
}

/* The instructions that define the CFA, but for def_cfa_offset; false if `op` is not one of
 * them. */
static bool run_cfa(struct bp_frame_row *row, struct cursor *cursor, uint8_t op, int64_t factor)
{
	switch (op) {
	case 0x0c: /* def_cfa */
		row->cfa_register = (uint8_t)get_uleb(cursor);
		row->cfa_offset = (int64_t)get_uleb(cursor);
		break;
	case 0x12: /* def_cfa_sf */
		row->cfa_register = (uint8_t)get_uleb(cursor);
		row->cfa_offset = get_sleb(cursor) * factor;
		break;
	case 0x0d: /* def_cfa_register */
		row->cfa_register = (uint8_t)get_uleb(cursor);
		break;
	case 0x13: /* def_cfa_offset_sf */
		row->cfa_offset = get_sleb(cursor) * factor;
		return true; /* keeps an expression, if there is one, as the register would */
	case 0x0f:	     /* def_cfa_expression */
		row->cfa_expression = get_expression(cursor);
		row->cfa_is_expression = true;
		return true;
	default:
		return false;
	}
	row->cfa_is_expression = false;
	return true;
}

/* The instructions that set one register's rule, and those without effect here, but for nop. */
static void run_rule(
	struct bp_frame_scratch *scratch, struct cursor *cursor, uint8_t op, int64_t factor)
{
	struct bp_frame_row *row = &scratch->row;
	uint64_t number;
	switch (op) {
	case 0x2c: /* AARCH64_negate_ra_state_with_pc */
	case 0x2d: /* AARCH64_negate_ra_state: a signed address is known by its form */
		break;
	case 0x05: /* offset_extended */
		number = get_uleb(cursor);
		set_rule(row, number, BP_RULE_OFFSET, (int64_t)get_uleb(cursor) * factor);
		break;
	case 0x11: /* offset_extended_sf */
		number = get_uleb(cursor);
		set_rule(row, number, BP_RULE_OFFSET, get_sleb(cursor) * factor);
		break;
	case 0x2f: /* GNU_negative_offset_extended */
		number = get_uleb(cursor);
		set_rule(row, number, BP_RULE_OFFSET, -(int64_t)get_uleb(cursor) * factor);
		break;
	case 0x14: /* val_offset */
		number = get_uleb(cursor);
		set_rule(row, number, BP_RULE_VALUE_OFFSET, (int64_t)get_uleb(cursor) * factor);
		break;
	case 0x15: /* val_offset_sf */
		number = get_uleb(cursor);
		set_rule(row, number, BP_RULE_VALUE_OFFSET, get_sleb(cursor) * factor);
		break;
	case 0x06: /* restore_extended */
		restore(scratch, get_uleb(cursor));
		break;
	case 0x07: /* undefined */
		set_rule(row, get_uleb(cursor), BP_RULE_UNDEFINED, 0);
		break;
	case 0x08: /* same_value */
		set_rule(row, get_uleb(cursor), BP_RULE_SAME, 0);
		break;
	case 0x09: /* register */
		number = get_uleb(cursor);
		set_rule(row, number, BP_RULE_REGISTER, (int64_t)get_uleb(cursor));
		break;
	case 0x10: /* expression */
		set_expression(row, cursor, BP_RULE_EXPRESSION);
		break;
	case 0x16: /* val_expression */
		set_expression(row, cursor, BP_RULE_VALUE_EXPRESSION);
		break;
	case 0x2e: /* GNU_args_size */
		(void)get_uleb(cursor);
		break;
	default:
		cursor->failed = true;
	}
}

/* Runs instructions until the location passes `pc`; false: not understood. The most frequent come
 * first. */
static bool run(
	struct bp_frame_scratch *scratch, struct cursor cursor, uintptr_t location, uintptr_t pc)
{
	const struct bp_cie *cie = &scratch->cie;
	unsigned depth = 0;
	while (cursor.at < cursor.end && !cursor.failed) {
		uint8_t op = *cursor.at++;
		uint64_t advance = 0;
		if (op >> 6 == 1) {
			advance = op & 0x3f;
		} else if (op == 0x0e) { /* def_cfa_offset, which keeps an expression, too */
			scratch->row.cfa_offset = (int64_t)get_uleb(&cursor);
			continue;
		} else if (op == 0x00) {
			continue;
		} else if (op >> 6 == 2) {
			set_rule(&scratch->row, op & 0x3f, BP_RULE_OFFSET,
				(int64_t)get_uleb(&cursor) * cie->data_factor);
		} else if (op >> 6 == 3) {
			restore(scratch, op & 0x3f);
		} else if (op == 0x01) {
			location = get_pointer(&cursor, cie->pointer_encoding);
			if (location > pc)
				break;
		} else if (op >= 0x02 && op <= 0x04) {
			advance = get(&cursor, 1u << (op - 2));
		} else if (op == 0x0a) {
			if (depth == BP_COUNT(scratch->stacked))
				return false;
			scratch->stacked[depth++] = scratch->row;
		} else if (op == 0x0b) {
			if (depth == 0)
				return false;
			scratch->row = scratch->stacked[--depth];
		} else if (!run_cfa(&scratch->row, &cursor, op, cie->data_factor)) {
			run_rule(scratch, &cursor, op, cie->data_factor);
		}
		location += advance * cie->code_factor;
		if (location > pc)
			break;
	}
	return !cursor.failed;
}

#define PAGE_DOWN(address) ((address) & ~(uintptr_t)4095)
#define PAGE_UP(address) PAGE_DOWN((address) + 4095u)

/* Narrows a range to the readable segments that join the one with the search table, if the program
 * headers are where they always are, in the first page. They are in ascending order, as the loader
 * wants them; what is not is taken for a hole. */
static void leave_out_holes(struct bp_module_range *range)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)range->start;
	if (range->end - range->start < 4096 ||
		__builtin_memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
		header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > 4096 ||
		header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > 4096)
		return;
	const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(range->start + header->e_phoff);
	const ElfW(Phdr) *const end = segment + header->e_phnum;
	while (segment < end && segment->p_type != PT_LOAD)
		segment++;
	const uintptr_t table = (uintptr_t)range->frame_header;
	uintptr_t low = table, high = table; /* of the segments that join so far */
	const uintptr_t bias = segment < end ? range->start - PAGE_DOWN(segment->p_vaddr) : 0;
	for (; segment < end; segment++) {
		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_R) == 0)
			continue;
		const uintptr_t first = PAGE_DOWN(bias + segment->p_vaddr);
		const uintptr_t last = bias + segment->p_vaddr + segment->p_memsz;
		if (first >= last)
			continue;
		if (first < low || first > PAGE_UP(high)) {
			if (low <= table && table < high)
				break;
			low = first;
			high = last;
		} else if (last > high) {
			high = last;
		}
	}
	if (table < low || table >= high)
		low = high = table;
	range->start = low > range->start ? low : range->start;
	range->end = high < range->end ? high : range->end;
}

/* Where the tables for `code` may be read. Large executables have holes between their segments: the
 * tables may lie in another piece. */
static bool tables_range(const struct bp_module_range *code, struct bp_module_range *ret_range)
{
	struct bp_module_range range = *code;
	const uintptr_t header = (uintptr_t)code->frame_header;
	if (header - code->start >= code->end - code->start &&
		!bp_module_range_find(header, &range))
		return false;
	leave_out_holes(&range);
	*ret_range = range;
	return true;
}

static bool has_expression(const struct bp_frame_row *row)
{
	bool any = row->cfa_is_expression;
	for (unsigned i = 0; i < BP_REGISTERS; i++)
		any |= row->rules[i].kind >= BP_RULE_EXPRESSION;
	return any;
}

/* The CIE at `at` into scratch->cie, and the row it begins with into scratch->initial. Most
 * functions of a program share one, or have one of the same bytes: of those that were read last
 * nothing is read again. What holds an expression is in the module and not kept. */
static bool begin_row(
	const struct bp_module_range *range, uintptr_t at, struct bp_frame_scratch *scratch)
{
	struct cursor cursor = entry_at(range, at);
	const uint8_t *const body = cursor.at;
	const size_t bytes = (size_t)(cursor.end - cursor.at);
	if (cursor.failed)
		return false;
	if (bytes == scratch->cie_length && memcmp(body, scratch->cie_bytes, bytes) == 0)
		return true;
	scratch->cie_length = 0;
	__builtin_memset(&scratch->row, 0, sizeof scratch->row);
	scratch->row.rules[BP_RETURN].kind = BP_RETURN_RULE;
	if (!read_cie(&cursor, &scratch->cie) || !run(scratch, cursor, 0, UINTPTR_MAX))
		return false;
	scratch->initial = scratch->row;
	if (bytes <= sizeof scratch->cie_bytes && !has_expression(&scratch->initial)) {
		__builtin_memcpy(scratch->cie_bytes, body, bytes);
		scratch->cie_length = (uint32_t)bytes;
	}
	return true;
}

bool bp_frame_rules(const struct bp_module_range *code, uintptr_t pc,
	struct bp_frame_scratch *scratch, bool *ret_signal_frame)
{
	struct bp_module_range tables;
	const struct bp_module_range *range = &tables;
	if (!tables_range(code, &tables))
		return false;
	uintptr_t fde = search(range, pc);
	if (fde == 0)
		return false;
	struct cursor cursor = entry_at(range, fde);
	const uintptr_t cie_field = (uintptr_t)cursor.at;
	uint64_t distance = get(&cursor, 4);
	if (cursor.failed || distance == 0 || !begin_row(range, cie_field - distance, scratch))
		return false;
	const struct bp_cie *cie = &scratch->cie;
	uintptr_t start = get_pointer(&cursor, cie->pointer_encoding);
	uint64_t length = get_pointer(&cursor, cie->pointer_encoding & 0x0f);
	if (cursor.failed || pc < start || pc - start >= length)
		return false;
	uint64_t augmentation_bytes = cie->augmented ? get_uleb(&cursor) : 0;
	if (augmentation_bytes > (uint64_t)(cursor.end - cursor.at))
		return false;
	cursor.at += augmentation_bytes;
	scratch->row = scratch->initial;
	*ret_signal_frame = cie->signal_frame;
	return run(scratch, cursor, start, pc);
}
