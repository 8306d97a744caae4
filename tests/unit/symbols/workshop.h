/* SPDX-License-Identifier: MIT */
/*
 * A scratch directory in which a test builds real programs with real compilers, runs them and takes
 * them apart.
 */
#ifndef TESTS_UNIT_SYMBOLS_WORKSHOP_H
#define TESTS_UNIT_SYMBOLS_WORKSHOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For cmocka: makes the directory and goes into it; removes it. */
int workshop_open(void **state);
int workshop_close(void **state);

/* The directory, absolute. */
const char *workshop_directory(void);

/* Is there such a command? */
bool have_command(const char *name);

/* Runs a shell command in the directory; the test fails with its text if it fails. */
void run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The first hexadecimal numbers a command prints, one on each line; the test fails if there are
 * fewer than `wanted`. */
void read_numbers(const char *command, uint64_t *numbers, uint32_t wanted);

void write_source(const char *name, const char *text);

/* The build-id of a file as hex text, by readelf; "" none. */
void read_build_id(const char *file, char *text, size_t bytes);

/* The value of a symbol, by nm; the test fails if there is none. */
uint64_t symbol_value(const char *file, const char *symbol);

/* Where the section .text lies. */
void read_text_section(const char *file, uint64_t *ret_address, uint64_t *ret_bytes);

#endif
