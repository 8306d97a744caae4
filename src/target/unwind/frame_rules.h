/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: from a pc to the rules that recover its caller's registers, read from the
 * .eh_frame tables that every binary carries for exceptions. The functions take no lock (the
 * loader's tables are read through _dl_find_object, which takes none either; the loaders that have
 * none are the exception, see bp_module_range_find), allocate nothing, and read nothing outside the
 * given module. Thread-safe, async-signal-safe.
 */
#ifndef BP_UNWIND_FRAME_RULES_H
#define BP_UNWIND_FRAME_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/machine.h"

enum bp_rule_kind {
	BP_RULE_SAME, /* the default: unchanged */
	BP_RULE_UNDEFINED,
	BP_RULE_OFFSET,		  /* saved at CFA + value */
	BP_RULE_VALUE_OFFSET,	  /* is CFA + value */
	BP_RULE_REGISTER,	  /* is in register `value` */
	BP_RULE_EXPRESSION,	  /* saved at the address the expression gives */
	BP_RULE_VALUE_EXPRESSION, /* is what the expression gives */
};

struct bp_expression {
	const uint8_t *at;
	uint32_t bytes;
};

struct bp_rule {
	uint8_t kind;
	union {
		int64_t value;
		struct bp_expression expression;
	};
};

/* Canonical frame address: register + offset, or an expression. */
struct bp_frame_row {
	bool cfa_is_expression;
	uint8_t cfa_register;
	int64_t cfa_offset;
	struct bp_expression cfa_expression;
	struct bp_rule rules[BP_REGISTERS];
};

/* What functions' entries have in common: factors, encodings (DWARF 4 section 6.4.1). */
struct bp_cie {
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t pointer_encoding;
	bool signal_frame, augmented;
};

/* Working memory, which the caller provides because the program's stack may be tiny; zeros at
 * first. It keeps the last CIE, which is recognised by its bytes. */
struct bp_frame_scratch {
	struct bp_frame_row row;	/* the result */
	struct bp_frame_row initial;	/* as the CIE sets it */
	struct bp_frame_row stacked[4]; /* remember_state */
	struct bp_cie cie;
	uint32_t cie_length; /* of cie_bytes; 0: none is kept */
	uint8_t cie_bytes[36];
};

/* A mapped module, as _dl_find_object or loaded_objects.h describes it. */
struct bp_module_range {
	uintptr_t start, end; /* mapped addresses; of a module with holes, the piece asked for */
	const uint8_t *frame_header; /* its .eh_frame_hdr */
	const void *link_map;
};

/* The module that covers `pc`; false if there is none. Thread-safe. Where the loader has no
 * _dl_find_object (glibc before 2.35), its lock is taken for a moment (loaded_objects.h): the
 * caller holds no lock of the recorder. */
bool bp_module_range_find(uintptr_t pc, struct bp_module_range *ret_range);

/* The same for a caller that holds a lock: where the loader has no _dl_find_object, of the modules
 * that were loaded at the last bp_module_range_find or bp_module_ranges_look. */
bool bp_module_range_known(uintptr_t pc, struct bp_module_range *ret_range);

/* Is called after a dlclose or dlopen of this thread, with no lock of the recorder held:
 * bp_module_range_find and bp_module_range_known then know what is loaded now. (What is opened
 * while there is one thread they know without.) */
void bp_module_ranges_look(void);

/* Finds the rules at `pc` (for a return address the caller has moved it back into the call
 * instruction) and stores them in scratch->row. `ret_signal_frame`: the caller was interrupted, so
 * that its pc is exact. False: there is no information. */
bool bp_frame_rules(const struct bp_module_range *code, uintptr_t pc,
	struct bp_frame_scratch *scratch, bool *ret_signal_frame);

#endif
