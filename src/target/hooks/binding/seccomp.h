/* SPDX-License-Identifier: MIT */
/* What a seccomp filter would do to the recorder's system calls. Private to hooks/. */
#ifndef BP_HOOKS_BINDING_SECCOMP_H
#define BP_HOOKS_BINDING_SECCOMP_H

#include <stddef.h>

#include "recorder/steering/seal.h"

struct sock_filter;

/* Returns what has to be given up before the filter of `count` instructions comes into force: the
 * recorder must not make calls for which the filter ends the process or the thread, or raises a
 * signal. Pure; any program is allowed (for one that the kernel would refuse the result has no
 * meaning). */
enum bp_seal bp_seccomp_forbids(const struct sock_filter *program, size_t count);

#endif
