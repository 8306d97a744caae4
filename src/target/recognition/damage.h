/* SPDX-License-Identifier: MIT */
/*
 * Ends a process whose program has damaged the memory of sampled objects, as glibc would do for its
 * own memory: with a line of the same words on standard error, and abort.
 */
#ifndef BP_RECOGNITION_DAMAGE_H
#define BP_RECOGNITION_DAMAGE_H

enum bp_damage {
	BP_DAMAGE_NONE,
	BP_DAMAGE_FREED_TWICE,
	BP_DAMAGE_REALLOC,     /* realloc of an object that was freed */
	BP_DAMAGE_WRITE_FREED, /* a freed object was written to before its memory was used again */
	BP_DAMAGE_OVERFLOW     /* a write behind the usable end of an object */
};

/* bp_damage_note stores a damage that was found where the process cannot be ended. bp_damage_noted
 * returns it, once, to the next thread that asks. */
void bp_damage_note(enum bp_damage damage);
enum bp_damage bp_damage_noted(void);

/* Ends the process. Called outside a visit, with no lock held, because the program may have a
 * handler for SIGABRT. */
__attribute__((noreturn)) void bp_damage_end(enum bp_damage damage);

#endif
