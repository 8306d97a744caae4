/* SPDX-License-Identifier: MIT */
/* See process_fields.h. A number that does not fit 63 bits, UINT64_MAX above all, is no value: it
 * stands for "no upper limit" and "none". */
#include "fleet/process_fields.h"

#include <stddef.h>
#include <string.h>

#include "base/attributes.h"

enum kind { HEAD_TEXT, HEAD_NUMBER, U64, OPEN_U64, U32, FLAG, TEXT };

struct field {
	const char *name;
	enum kind kind;
	size_t offset;
};

#define HEAD(name_, kind_) [BP_PROCESS_##name_] = { #name_, HEAD_##kind_, 0 }
#define FIELD(name_, kind_, member)                               \
	{                                                         \
		name_, kind_, offsetof(struct bp_process, member) \
	}
/* A total and its upper limit. */
#define TOTAL(name_, member) \
	FIELD(name_, U64, member.low), FIELD(name_ "_high", OPEN_U64, member.high)

static const struct field fields[] = {
	HEAD(process, TEXT),
	HEAD(run, TEXT),
	HEAD(parent, TEXT),
	HEAD(service, TEXT),
	HEAD(release, TEXT),
	HEAD(host, TEXT),
	HEAD(tags, TEXT),
	HEAD(lost, TEXT),
	HEAD(unread_files, NUMBER),
	FIELD("name", TEXT, name),
	FIELD("program", TEXT, program),
	FIELD("command_line", TEXT, command_line),
	FIELD("recording", TEXT, file),
	FIELD("allocator", TEXT, allocator),
	FIELD("pid", U32, pid),
	FIELD("parent_pid", U32, parent_pid),
	FIELD("exec_number", U32, exec_number),
	FIELD("start_unix_ns", U64, start_real_ns),
	FIELD("start_clock_ns", U64, start_time_ns),
	FIELD("end_clock_ns", U64, end_time_ns),
	FIELD("law", U32, law),
	FIELD("charge", U32, charge),
	FIELD("interval_first", U64, interval_first),
	FIELD("interval_min", U64, interval_min),
	FIELD("interval_max", U64, interval_max),
	TOTAL("allocated_bytes", bytes_allocated),
	TOTAL("allocated_objects", objects_allocated),
	TOTAL("off_bytes", bytes_off),
	TOTAL("off_objects", objects_off),
	FIELD("unoffered_bytes", U64, unoffered_bytes),
	FIELD("unoffered_objects", U64, unoffered_objects),
	FIELD("samples", U64, samples),
	FIELD("sampled_bytes", U64, sampled_bytes),
	FIELD("size_min", OPEN_U64, size_min),
	FIELD("size_floor", U64, size_floor),
	FIELD("recorder_bytes", U64, recorder_bytes),
	FIELD("ended", FLAG, ended),
	FIELD("running", FLAG, running),
	FIELD("end_signal", U32, end_signal),
	FIELD("end_reason", U32, end_reason),
	FIELD("profiled", FLAG, profiled),
	FIELD("unprofiled_reason", U32, unprofiled_reason),
	FIELD("open_threads", U64, open_threads),
	FIELD("unknown_samples", U64, unknown_samples),
	FIELD("automatic", FLAG, automatic),
	FIELD("fine_start", FLAG, fine_start),
	FIELD("has_pauses", FLAG, has_pauses),
	FIELD("trials_by_interval", FLAG, trials_by_interval),
	FIELD("changes", U64, changes),
	FIELD("fold_missing", FLAG, fold_missing),
	FIELD("folded_ns", U64, folded_ns),
	FIELD("folded_until_ns", U64, folded_until_ns),
	FIELD("damaged_chunks", U64, damaged_chunks),
	FIELD("cut_off", FLAG, cut_off),
	FIELD("lacks", U32, lacks),
	FIELD("misread", U32, misread),
	FIELD("own_objects", FLAG, host),
	FIELD("forks", U64, forks),
	FIELD("spawned", U64, spawned),
	FIELD("missing_children", U64, missing_children),
	FIELD("unseen_execs", U64, unseen_execs),
	FIELD("unseen_example", TEXT, unseen_example),
	FIELD("unseen_reason", U32, unseen_reason),
	FIELD("became", TEXT, became),
	FIELD("became_unseen", FLAG, became_unseen),
	FIELD("python", TEXT, python.name),
	FIELD("python_known", FLAG, python.known),
	FIELD("python_frames", U32, python.frames_state),
	FIELD("python_objects", U32, python.objects_state),
	FIELD("frames", U64, frames),
	FIELD("frames_named", U64, frames_named),
	FIELD("methods_listed", FLAG, methods_listed),
	FIELD("other_events", U64, other_events),
};
_Static_assert(BP_COUNT(fields) <= BP_PROCESS_FIELDS_MAX, "room in tables.c");

const uint32_t bp_process_field_count = BP_COUNT(fields);

struct bp_parquet_column bp_process_column(uint32_t number)
{
	const struct field *field = &fields[number];
	const bool text = field->kind == TEXT || field->kind == HEAD_TEXT;
	return (struct bp_parquet_column){ .name = field->name,
		.type = text		      ? BP_PARQUET_TEXT
			: field->kind == FLAG ? BP_PARQUET_FLAG
					      : BP_PARQUET_NUMBER,
		.optional = field->kind == OPEN_U64 };
}

struct bp_parquet_value bp_process_value(
	const struct bp_profile *profile, const struct bp_process *process, uint32_t number)
{
	const struct field *field = &fields[number];
	const char *at = (const char *)process + field->offset;
	struct bp_parquet_value value = { .number = 0 };
	uint64_t wide = 0;
	uint32_t narrow = 0;
	struct bp_string_id text;
	switch (field->kind) {
	case U64:
	case OPEN_U64:
		memcpy(&wide, at, sizeof wide);
		value.null = field->kind == OPEN_U64 && wide > INT64_MAX;
		value.number = wide > INT64_MAX ? INT64_MAX : (int64_t)wide;
		return value;
	case U32:
		memcpy(&narrow, at, sizeof narrow);
		value.number = narrow;
		return value;
	case FLAG:
		value.number = *(const bool *)at;
		return value;
	case TEXT:
		memcpy(&text, at, sizeof text);
		value.text = bp_profile_text(profile, text);
		return value;
	default:
		return value;
	}
}

bool bp_process_set(struct bp_profile *profile, struct bp_process *process, uint32_t number,
	const struct bp_parquet_value *value, struct bp_error *error)
{
	const struct field *field = &fields[number];
	char *at = (char *)process + field->offset;
	const uint64_t wide = value->null ? UINT64_MAX : (uint64_t)value->number;
	struct bp_string_id text;
	switch (field->kind) {
	case U64:
	case OPEN_U64:
		memcpy(at, &wide, sizeof wide);
		return true;
	case U32:
		memcpy(at, &(uint32_t){ (uint32_t)wide }, sizeof(uint32_t));
		return true;
	case FLAG:
		*(bool *)at = wide != 0;
		return true;
	case TEXT:
		if (!bp_profile_string(profile, value->text, strlen(value->text), &text, error))
			return false;
		memcpy(at, &text, sizeof text);
		return true;
	default:
		return true;
	}
}
