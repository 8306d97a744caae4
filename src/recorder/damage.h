/* SPDX-License-Identifier: MIT */
/*
 * What ends a process whose program damaged the memory of sampled objects, where glibc would have noticed
 * the like of its own: a line of the same words on standard error, and abort.
 */
#ifndef BP_RECORDER_DAMAGE_H
#define BP_RECORDER_DAMAGE_H

enum bp_damage {
	BP_DAMAGE_NONE,
	BP_DAMAGE_FREED_TWICE,
	BP_DAMAGE_REALLOC,     /* realloc of an object that was freed */
	BP_DAMAGE_WRITE_FREED, /* a freed object was written to before its memory was used again */
	BP_DAMAGE_OVERFLOW     /* a write behind the usable end of an object */
};

/* What was found, by any thread, where the process cannot be ended: it goes on until somebody asks. A
 * damage is handed out once. */
void bp_damage_note(enum bp_damage damage);
enum bp_damage bp_damage_noted(void);

/* Ends the process. Outside a visit, no lock held: the program may have a handler for SIGABRT. */
__attribute__((noreturn)) void bp_damage_end(enum bp_damage damage);

#endif
