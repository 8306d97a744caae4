/* SPDX-License-Identifier: MIT */
/*
 * The licence of bytepoll and those of the works that it holds parts of: the files LICENSE and
 * NOTICE, one after the other, not terminated. Defined by licences.S, printed by main.c.
 */
#ifndef BP_CLI_HELP_LICENCES_H
#define BP_CLI_HELP_LICENCES_H

extern const char bp_licences[], bp_licences_end[];

#endif
