/* SPDX-License-Identifier: MIT */
/*
 * Where names of addresses may come from, as the command line says: the options that come with
 * BP_OPTION_DEBUG_DIRECTORY (query_options.h). They hold for the whole process, whatever reads how
 * many files, and so are taken once, by main.c. One thread.
 */
#ifndef BP_CLI_OPTIONS_SYMBOL_OPTIONS_H
#define BP_CLI_OPTIONS_SYMBOL_OPTIONS_H

#include "base/error.h"
#include "cli/command.h"
#include "symbols/symbols.h"

/* Takes --debuginfod and --no-symbol-cache, if the command has them, and BYTEPOLL_CACHE=off. The
 * error is one of usage. */
bool bp_symbol_options_take(const struct bp_arguments *arguments, struct bp_error *error);

/* What was taken, for bp_symbols_resolve; `debug_directory` may be NULL. */
struct bp_symbol_options bp_symbol_options_with(const char *debug_directory);

#endif
