/* SPDX-License-Identifier: MIT */
/* A recorder that was opened by a running program (dlopen) stands behind the C library, and no call
 * of the program finds its hooks. So the places where loaded objects keep the addresses of the
 * hooked functions get the hooks' addresses, and get the real ones back when the recorder is
 * detached. Private to hooks/. */
#ifndef BP_HOOKS_BINDING_LATE_H
#define BP_HOOKS_BINDING_LATE_H

#include <stdbool.h>

/* Are the hooks bound, and may objects have been loaded since that were not looked at? */
extern bool bp_late_wants_look __attribute__((visibility("hidden")));

/* Binds the objects that were loaded since. Takes the loader's lock, so it is for calls of the
 * program that take it anyway. */
void bp_late_look(void);

#endif
