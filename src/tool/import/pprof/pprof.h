/* SPDX-License-Identifier: MIT */
/* The importer of heap profiles in pprof form (pprof.c), for the array in import.c. */
#ifndef BP_IMPORT_PPROF_PPROF_H
#define BP_IMPORT_PPROF_PPROF_H

#include "import/import.h"

extern const struct bp_importer bp_import_pprof;

#endif
