/* SPDX-License-Identifier: MIT */
/* What a seccomp filter would do to the recorder's system calls. Private to hooks/. */
#ifndef BP_HOOKS_SECCOMP_H
#define BP_HOOKS_SECCOMP_H

#include <stddef.h>

#include "recorder/seal.h"

struct sock_filter;

/* What must be given up before the filter of `count` instructions comes into force: calls that it
 * answers by ending the process or the thread, or by a signal, must not be made. Pure; any program
 * text will do (one that the kernel would refuse gives anything). */
enum bp_seal bp_seccomp_forbids(const struct sock_filter *program, size_t count);

#endif
