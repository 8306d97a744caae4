/* SPDX-License-Identifier: MIT */
/*
 * Text in .NET's events: UTF-16, little endian, ended by a zero unit; given to the rest of bytepoll
 * as UTF-8. Lone surrogates become U+FFFD. Pure.
 */
#ifndef BP_IMPORT_DOTNET_DOTNET_TEXT_H
#define BP_IMPORT_DOTNET_DOTNET_TEXT_H

#include <stddef.h>

#include "base/bytes.h"

/* Reads a text into `to`, terminated, cut at a character to fit `capacity` bytes (NULL and 0: read
 * past it). Returns the bytes of all of it as UTF-8, without the end. A text that has no end fails
 * the cursor. */
size_t bp_dotnet_text(struct bp_bytes *bytes, char *to, size_t capacity);

#endif
