/* SPDX-License-Identifier: MIT */
/* The importer of .nettrace files (nettrace.c), for the array in import.c. */
#ifndef BP_IMPORT_DOTNET_NETTRACE_H
#define BP_IMPORT_DOTNET_NETTRACE_H

#include "import/import.h"

extern const struct bp_importer bp_import_nettrace;

#endif
