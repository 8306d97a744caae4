/* SPDX-License-Identifier: MIT */
/*
 * The line number program, run once per unit without keeping its rows: a row holds from its address
 * to that of the next row, so every pair of rows gives its line to the addresses between them. A
 * sequence that does not begin in a code section belongs to a discarded function and gives nothing.
 * The names of files are libdw's business.
 *
 * The header, all versions (little endian; `o` is 4 bytes, or 8 in the 64-bit format, whose length
 * field begins with ff ff ff ff):
 *
 *	SIZE  MEANING
 *	o     bytes that follow
 *	2     version
 *	1, 1  address size, segment selector size (from version 5)
 *	o     bytes from here to the program
 *	1     bytes of the smallest instruction
 *	1     most operations in an instruction (from version 4)
 *	1     default of is_stmt
 *	1, 1  line base (signed), line range
 *	1     opcode base: first special opcode
 *	...   operand counts of the standard opcodes 1 to opcode base - 1, then directories and
 *files
 */
#include "symbols/dwarf/line_program.h"

#include <dwarf.h>
#include <gelf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/sorted.h"

struct program {
	struct bp_bytes code;
	uint8_t instruction_bytes, operations, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *operand_counts; /* of opcodes 1 to opcode_base - 1 */
	/* The question. */
	const uint64_t *addresses;
	uint32_t count;
	const struct bp_code_sections *sections;
	struct bp_line *lines;
	/* The machine's registers. */
	uint64_t address, operation, file, line;
	/* The row before, if there is one in this sequence. */
	struct {
		bool exists;
		uint64_t address, file, line;
	} row;
	bool ghost; /* the sequence began outside all code */
};

struct bp_line_section bp_line_section_of(Dwarf *dwarf)
{
	struct bp_line_section found = { 0 };
	Elf *elf = dwarf_getelf(dwarf);
	const char *ident = elf != NULL ? elf_getident(elf, NULL) : NULL;
	Elf_Scn *section = NULL;
	size_t names = 0;
	if (ident == NULL || ident[EI_DATA] != ELFDATA2LSB || elf_getshdrstrndx(elf, &names) != 0)
		return found;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		Elf_Data *data = NULL;
		const char *name = NULL;
		if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name == NULL || (header.sh_flags & SHF_COMPRESSED) != 0 ||
			(strcmp(name, ".debug_line") != 0 && strcmp(name, ".zdebug_line") != 0))
			continue;
		data = elf_getdata(section, NULL);
		if (data != NULL && data->d_buf != NULL)
			found = (struct bp_line_section){ data->d_buf, data->d_size };
		break;
	}
	return found;
}

static uint64_t read_offset(struct bp_bytes *bytes, bool wide)
{
	return wide ? bp_bytes_u64(bytes) : bp_bytes_u32(bytes);
}

/* Reads the header at the start of `bytes` and leaves the machine before its first step. */
static bool read_header(struct program *program, struct bp_bytes bytes)
{
	uint64_t length = bp_bytes_u32(&bytes);
	bool wide = length == UINT32_MAX;
	struct bp_bytes unit, after;
	const uint8_t *data = NULL;
	uint16_t version = 0;
	if (wide)
		length = bp_bytes_u64(&bytes);
	if (length > bp_bytes_left(&bytes))
		length = bp_bytes_left(&bytes);
	data = bp_bytes_take(&bytes, length);
	if (data == NULL)
		return false;
	unit = bp_bytes_of(data, length);
	version = bp_bytes_u16(&unit);
	if (version < 2 || version > 5)
		return false;
	if (version >= 5)
		bp_bytes_u16(&unit);
	length = read_offset(&unit, wide);
	after = unit;
	if (bp_bytes_take(&after, length) == NULL)
		return false;
	program->code = after;
	program->instruction_bytes = bp_bytes_u8(&unit);
	program->operations = version >= 4 ? bp_bytes_u8(&unit) : 1;
	bp_bytes_u8(&unit);
	program->line_base = (int8_t)bp_bytes_u8(&unit);
	program->line_range = bp_bytes_u8(&unit);
	program->opcode_base = bp_bytes_u8(&unit);
	if (program->opcode_base == 0 || program->line_range == 0 || program->operations == 0)
		return false;
	program->operand_counts = bp_bytes_take(&unit, program->opcode_base - 1u);
	return program->operand_counts != NULL;
}

static void begin_sequence(struct program *program)
{
	program->address = 0;
	program->operation = 0;
	program->file = 1;
	program->line = 1;
	program->row.exists = false;
	program->ghost = false;
}

/* Gives the line of the row before to the addresses up to this one. */
static void give_line(struct program *program)
{
	uint32_t i = bp_sorted_below(program->addresses, sizeof *program->addresses, program->count,
		program->row.address);
	for (; i < program->count && program->addresses[i] < program->address; i++)
		program->lines[i] = (struct bp_line){
			.known = true,
			.line = program->row.line <= UINT32_MAX ? (uint32_t)program->row.line : 0,
			.file = program->row.file,
		};
}

static void append_row(struct program *program)
{
	if (!program->row.exists)
		program->ghost = bp_code_sections_find(program->sections, program->address) == NULL;
	else if (!program->ghost && program->address > program->row.address)
		give_line(program);
	program->row.exists = true;
	program->row.address = program->address;
	program->row.file = program->file;
	program->row.line = program->line;
}

static void advance(struct program *program, uint64_t operations)
{
	uint64_t sum = program->operation + operations;
	program->address += program->instruction_bytes * (sum / program->operations);
	program->operation = sum % program->operations;
}

static int64_t read_signed(struct bp_bytes *bytes)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = bp_bytes_u8(bytes);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) != 0)
			continue;
		if ((byte & 0x40) != 0 && shift + 7 < 64)
			value |= ~(uint64_t)0 << (shift + 7);
		return (int64_t)value;
	}
	bytes->failed = true;
	return 0;
}

static void step_special(struct program *program, uint8_t opcode)
{
	uint8_t adjusted = (uint8_t)(opcode - program->opcode_base);
	advance(program, adjusted / program->line_range);
	program->line += (uint64_t)(int64_t)(program->line_base + adjusted % program->line_range);
	append_row(program);
}

static void step_extended(struct program *program)
{
	uint64_t bytes = bp_bytes_varint(&program->code);
	const uint8_t *data = bp_bytes_take(&program->code, bytes);
	if (data == NULL || bytes == 0)
		return;
	if (data[0] == DW_LNE_end_sequence) {
		append_row(program);
		begin_sequence(program);
	} else if (data[0] == DW_LNE_set_address && bytes - 1 <= sizeof program->address) {
		program->address = 0;
		program->operation = 0;
		memcpy(&program->address, data + 1, bytes - 1);
	}
}

/* A standard opcode that only this reader's future knows: its operands are skipped. */
static void skip_operands(struct program *program, uint8_t opcode)
{
	for (uint8_t i = 0; i < program->operand_counts[opcode - 1]; i++)
		bp_bytes_varint(&program->code);
}

static void step_standard(struct program *program, uint8_t opcode)
{
	switch (opcode) {
	case DW_LNS_copy:
		append_row(program);
		break;
	case DW_LNS_advance_pc:
		advance(program, bp_bytes_varint(&program->code));
		break;
	case DW_LNS_advance_line:
		program->line += (uint64_t)read_signed(&program->code);
		break;
	case DW_LNS_set_file:
		program->file = bp_bytes_varint(&program->code);
		break;
	case DW_LNS_const_add_pc:
		advance(program, (255u - program->opcode_base) / program->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		program->address += bp_bytes_u16(&program->code);
		program->operation = 0;
		break;
	default: /* columns, blocks, instruction sets, and what is not known */
		skip_operands(program, opcode);
		break;
	}
}

static void run(struct program *program)
{
	begin_sequence(program);
	while (!program->code.failed && bp_bytes_left(&program->code) > 0) {
		uint8_t opcode = bp_bytes_u8(&program->code);
		if (opcode >= program->opcode_base)
			step_special(program, opcode);
		else if (opcode == 0)
			step_extended(program);
		else
			step_standard(program, opcode);
	}
}

void bp_lines_find(const struct bp_line_section *section, Dwarf_Die *unit,
	const uint64_t *addresses, uint32_t count, const struct bp_code_sections *sections,
	struct bp_line *lines)
{
	struct program program = {
		.addresses = addresses, .count = count, .sections = sections, .lines = lines
	};
	Dwarf_Attribute attribute;
	Dwarf_Word offset = 0;
	memset(lines, 0, count * sizeof *lines);
	if (section->data == NULL || dwarf_attr(unit, DW_AT_stmt_list, &attribute) == NULL ||
		dwarf_formudata(&attribute, &offset) != 0 || offset >= section->bytes)
		return;
	if (read_header(&program, bp_bytes_of(section->data + offset, section->bytes - offset)))
		run(&program);
}
