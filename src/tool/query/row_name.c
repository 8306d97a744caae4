/* SPDX-License-Identifier: MIT */
/* See row_name.h. */
#include "query/row_name.h"

#include <stdio.h>

#include "base/path.h"
#include "model/names/process_name.h"
#include "query/selection.h"

void bp_frame_row_key(const struct bp_profile *profile, enum bp_key by, struct bp_frame_id id,
	uint64_t *ret_a, uint64_t *ret_b)
{
	const struct bp_frame *frame = &profile->frames.data[id.i];
	uint32_t path = profile->modules.data[frame->module.i].path.i;
	*ret_b = 0;
	if (by == BP_KEY_MODULE) {
		*ret_a = path;
	} else if (by == BP_KEY_FILE) {
		*ret_a = frame->source_file.i;
		if (*ret_a == 0)
			*ret_b = path;
	} else if (by == BP_KEY_LINE && frame->source_file.i != 0 && frame->line != 0) {
		*ret_a = frame->source_file.i;
		*ret_b = frame->line;
	} else if (by == BP_KEY_LINE) {
		*ret_a = 0;
		*ret_b = frame->function.i;
	} else {
		*ret_a = frame->function.i;
	}
}

static const char *text_of(const struct bp_profile *profile, uint64_t string)
{
	return bp_profile_text(profile, (struct bp_string_id){ (uint32_t)string });
}

static void name_thread(const struct bp_profile *profile, uint64_t id, char *buffer, size_t bytes)
{
	const struct bp_thread *thread = &profile->threads.data[id];
	const struct bp_process *process = &profile->processes.data[thread->process.i];
	const char *name = bp_profile_text(profile, thread->name);
	if (id == 0)
		snprintf(buffer, bytes, "(thread not known)");
	else
		snprintf(buffer, bytes, "%s (tid %u)",
			*name != '\0' ? name : bp_process_name(profile, process), thread->tid);
}

const char *bp_row_name(const struct bp_profile *profile, enum bp_key by, const char *label,
	uint64_t a, uint64_t b, char *buffer, size_t bytes)
{
	const struct bp_process *process;
	const char *text = text_of(profile, a);
	if (a == BP_ROW_NO_STACK)
		return "(no stack recorded)";
	switch (by) {
	case BP_KEY_FUNCTION:
		return *text != '\0' ? text : "(no name)";
	case BP_KEY_LINE:
		if (a == 0) {
			text = text_of(profile, b);
			return *text != '\0' ? text : "(no name)";
		}
		snprintf(buffer, bytes, "%s:%u", text, (unsigned)b);
		return buffer;
	case BP_KEY_FILE:
		if (a != 0)
			return text;
		snprintf(buffer, bytes, "(no source known: %s)",
			b != 0 ? bp_last_part(text_of(profile, b)) : "no module");
		return buffer;
	case BP_KEY_MODULE:
		return *text != '\0' ? text : "(no module)";
	case BP_KEY_THREAD:
		name_thread(profile, a, buffer, bytes);
		return buffer;
	case BP_KEY_SIZE:
		snprintf(buffer, bytes, "%llu", (unsigned long long)a);
		return buffer;
	case BP_KEY_KIND:
	case BP_KEY_TYPE:
		return bp_type_name(profile, a);
	case BP_KEY_LABEL:
		return bp_label_name(profile, label, b != 0, (struct bp_string_id){ (uint32_t)a },
			buffer, bytes);
	case BP_KEY_ORIGIN:
		return *text != '\0' ? text : "(none)";
	default:
		process = &profile->processes.data[a];
		snprintf(buffer, bytes, "%s (pid %u)", bp_process_name(profile, process),
			process->pid);
		return buffer;
	}
}
