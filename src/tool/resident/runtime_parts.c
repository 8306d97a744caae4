/* SPDX-License-Identifier: MIT */
/*
 * What a runtime says of its own memory, as a table (parts.h). The lines are the parts that it
 * holds; the total is what it says that it has from the kernel, less what it gave back. Where it
 * says no total, that is the sum of the lines. All of these are the runtime's own figures, exact;
 * only the owners of the line that objects lie in are estimates.
 */
#include "resident/parts.h"

static struct bp_interval exactly(double bytes)
{
	return (struct bp_interval){ bytes, bytes, bytes, true, false };
}

/* Where the parts of a moment begin and end in the profile's table. */
struct moment {
	uint32_t from, to;
	uint64_t held_bytes; /* the total less what was given back, or the sum of what is held */
	bool has_total;
};

/* The first moment from `from` on that tells of a process. */
static bool next_moment(const struct bp_profile *profile, struct bp_process_id process,
	uint32_t from, struct moment *ret_moment)
{
	const struct bp_runtime_part *parts = profile->runtime_parts.data;
	const uint32_t count = profile->runtime_parts.count;
	while (from < count && parts[from].process.i != process.i)
		from++;
	struct moment moment = { .from = from, .to = from };
	uint64_t held = 0, given_back = 0, total = 0;
	for (; moment.to < count && parts[moment.to].process.i == process.i &&
		parts[moment.to].time_ns == parts[from].time_ns;
		moment.to++) {
		const struct bp_runtime_part *part = &parts[moment.to];
		held += part->kind == BP_RUNTIME_HELD ? part->bytes : 0;
		given_back += part->kind == BP_RUNTIME_GIVEN_BACK ? part->bytes : 0;
		total += part->kind == BP_RUNTIME_TOTAL ? part->bytes : 0;
	}
	moment.has_total = total > given_back;
	moment.held_bytes = moment.has_total ? total - given_back : held;
	*ret_moment = moment;
	return from < count;
}

static bool is_better(const struct moment *moment, const struct moment *than, bool highest)
{
	if (moment->has_total != than->has_total)
		return moment->has_total;
	return !highest || moment->held_bytes > than->held_bytes;
}

/* The last moment, or the first of those at which most was held; of those that have a total, if any
 * has: the others say less. */
static bool choose_moment(const struct bp_profile *profile, struct bp_process_id process,
	bool highest, struct moment *ret_moment)
{
	struct moment moment = { 0 };
	bool any = false;
	for (uint32_t at = 0; next_moment(profile, process, at, &moment); at = moment.to) {
		if (!any || is_better(&moment, ret_moment, highest))
			*ret_moment = moment;
		any = true;
	}
	return any;
}

/* The owners of what lives, by the key that was asked for. */
static bool add_owners(const struct bp_profile *profile, const struct bp_query *query,
	struct bp_part *part, struct bp_error *error)
{
	struct bp_query asked = *query;
	struct bp_aggregation aggregation;
	asked.metric = BP_METRIC_LIVE;
	if (!bp_aggregate(profile, &asked, &aggregation, error))
		return false;
	const bool added = bp_parts_add_rows(part, &aggregation);
	bp_aggregation_finish(&aggregation);
	return added || bp_error_set(error, "out of memory");
}

static bool add_line(const struct bp_profile *profile, const struct bp_query *query,
	const struct bp_runtime_part *from, struct bp_parts *parts, struct bp_error *error)
{
	if (parts->count == BP_PARTS_MAX)
		return true; /* it is in what no line names */
	struct bp_part *part = &parts->parts[parts->count++];
	*part = (struct bp_part){ .name = bp_profile_text(profile, from->name),
		.bytes = exactly((double)from->bytes) };
	return !from->has_live || add_owners(profile, query, part, error);
}

bool bp_runtime_parts_make(const struct bp_profile *profile, const struct bp_query *query,
	bool highest, struct bp_parts *ret_parts, struct bp_error *error)
{
	const struct bp_process *root = &profile->processes.data[profile->root.i];
	struct moment moment = { 0 };
	struct bp_parts parts = { .pid = root->pid,
		.runtime = bp_profile_text(profile, root->runtime) };
	double named_bytes = 0;
	bool good = true;
	error->text[0] = '\0';
	if (!choose_moment(profile, profile->root, highest, &moment))
		return false;
	const struct bp_runtime_part *of = profile->runtime_parts.data;
	for (uint32_t i = moment.from; good && i < moment.to; i++) {
		if (of[i].kind == BP_RUNTIME_HELD)
			good = add_line(profile, query, &of[i], &parts, error);
		else if (of[i].kind == BP_RUNTIME_GIVEN_BACK)
			parts.given_back_bytes += of[i].bytes;
		else if (of[i].kind == BP_RUNTIME_HIGH_WATER)
			parts.high_water_bytes = of[i].bytes;
	}
	if (!good) {
		bp_parts_finish(&parts);
		return false;
	}
	for (uint32_t i = 0; i < parts.count; i++)
		named_bytes += parts.parts[i].bytes.estimate;
	const uint64_t time_ns = of[moment.from].time_ns;
	parts.at_ns = time_ns == BP_TIME_NEVER	      ? time_ns
		      : time_ns > root->start_time_ns ? time_ns - root->start_time_ns
						      : 0;
	parts.total_bytes = moment.held_bytes;
	parts.total_stated = moment.has_total;
	parts.unexplained = exactly((double)parts.total_bytes - named_bytes);
	*ret_parts = parts;
	return true;
}
