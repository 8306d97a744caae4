/* SPDX-License-Identifier: MIT */
/*
 * The entry leads, by its abstract origin and its specification, to the declaration in the class,
 * and the entries around that are the class, the function that has it, and so on outwards. Going
 * outwards ends at the first function with a name of its own for the linker, which says it all; a
 * function that is itself the operator() of a lambda is one more link.
 *
 * gcc calls the class of a lambda `<lambda(int)>`, clang does not call it anything; shown as in
 * demangled names, but without the number, which debug information does not have: {lambda(int)}.
 */
#include "symbols/demangle/local_name.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle/demangle.h"

#define REFERENCES_MAX 8
#define SCOPES_MAX 64
#define NAME_BYTES_MAX 1024u

bool bp_is_bare_call_operator(const char *name)
{
	return strncmp(name, "operator()", 10) == 0 && (name[10] == '\0' || name[10] == '<');
}

/* The entry that stands where the function was written. */
static Dwarf_Die declaration_of(const Dwarf_Die *die)
{
	Dwarf_Die at = *die, next;
	for (int i = 0; i < REFERENCES_MAX; i++) {
		Dwarf_Attribute attribute;
		if (dwarf_attr(&at, DW_AT_abstract_origin, &attribute) == NULL &&
			dwarf_attr(&at, DW_AT_specification, &attribute) == NULL)
			break;
		if (dwarf_formref_die(&attribute, &next) == NULL)
			break;
		at = next;
	}
	return at;
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	const char *text = NULL;
	if (dwarf_attr_integrate(die, name, &attribute) != NULL)
		text = dwarf_formstring(&attribute);
	return text != NULL && text[0] != '\0' ? text : NULL;
}

/* Puts "text::" before what is there; false where it does not fit. */
static bool prepend(char *name, const char *text)
{
	size_t bytes = strlen(text), have = strlen(name);
	if (bytes + 2 + have >= NAME_BYTES_MAX)
		return false;
	memmove(name + bytes + 2, name, have + 1);
	memcpy(name, text, bytes);
	memcpy(name + bytes, "::", 2);
	return true;
}

static bool prepend_class(char *name, Dwarf_Die *die)
{
	const char *text = text_of(die, DW_AT_name);
	char lambda[256];
	if (text == NULL)
		return prepend(name, "{lambda}");
	if (strncmp(text, "<lambda", 7) != 0)
		return prepend(name, text);
	if (strlen(text) >= sizeof lambda)
		return prepend(name, "{lambda}");
	snprintf(lambda, sizeof lambda, "%s", text);
	lambda[0] = '{';
	lambda[strlen(lambda) - 1] = '}';
	return prepend(name, lambda);
}

/* Puts the function's name before; `*ret_whole` where that is one with everything around it. */
static bool prepend_function(char *name, Dwarf_Die *die, bool *ret_whole)
{
	const char *linkage = text_of(die, DW_AT_linkage_name);
	const char *plain = text_of(die, DW_AT_name);
	char *demangled = NULL;
	bool fits = false;
	*ret_whole = linkage != NULL;
	if (linkage == NULL)
		return plain != NULL && prepend(name, plain);
	demangled = bp_demangle(linkage);
	fits = prepend(name, demangled != NULL ? demangled : linkage);
	free(demangled);
	return fits;
}

/* Adds what is around scopes[0], outwards; returns whether anything was. */
static bool prepend_scopes(char *name, Dwarf_Die *scopes, int count)
{
	bool whole = false, some = false;
	for (int i = 1; i < count && i < SCOPES_MAX && !whole; i++) {
		const char *text = NULL;
		bool added = false;
		switch (dwarf_tag(&scopes[i])) {
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			added = prepend_class(name, &scopes[i]);
			break;
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			added = prepend_function(name, &scopes[i], &whole);
			break;
		case DW_TAG_namespace:
			text = text_of(&scopes[i], DW_AT_name);
			added = prepend(name, text != NULL ? text : "(anonymous namespace)");
			break;
		default:
			continue;
		}
		if (!added)
			return some;
		some = true;
	}
	return some;
}

char *bp_local_name(const Dwarf_Die *die)
{
	Dwarf_Die declaration = declaration_of(die), *scopes = NULL;
	const char *plain = text_of(&declaration, DW_AT_name);
	char name[NAME_BYTES_MAX];
	int count = 0;
	bool some = false;
	if (plain == NULL || strlen(plain) >= sizeof name)
		return NULL;
	snprintf(name, sizeof name, "%s", plain);
	count = dwarf_getscopes_die(&declaration, &scopes);
	if (count > 1)
		some = prepend_scopes(name, scopes, count);
	free(scopes);
	return some ? strdup(name) : NULL;
}
