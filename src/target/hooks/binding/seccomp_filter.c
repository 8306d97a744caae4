/* SPDX-License-Identifier: MIT */
/*
 * What a filter would do to the recorder is learnt by running it (base/seccomp_filter.h) for each
 * call that the recorder makes after its start (base/recorder_calls.h). Refusing a call with an
 * error is no harm. Ending the process or raising SIGSYS is.
 */
#include <elf.h>

#include "base/attributes.h"
#include "base/recorder_calls.h"
#include "base/seccomp_filter.h"
#include "hooks/binding/seccomp.h"
#include "trace/format.h"

_Static_assert(BP_CALL_CHUNK_BYTES == BP_CHUNK_BYTES, "the same piece of a trace");

/* The linker's name for the start of this object: tells the machine it is of. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

enum bp_seal bp_seccomp_forbids(const struct sock_filter *program, size_t count)
{
	enum bp_seal seal = BP_SEAL_NONE;
	for (size_t i = 0; i < BP_COUNT(bp_recorder_calls); i++) {
		const struct bp_recorder_call *call = &bp_recorder_calls[i];
		if (call->seal > seal &&
			bp_filter_kills(bp_filter_action(program, count, __ehdr_start.e_machine,
				call->number, call->arguments)))
			seal = call->seal;
	}
	return seal;
}
