/* SPDX-License-Identifier: MIT */
/* The line of the header that says for how long sampling was off, and what was allocated then. */
#include <stdio.h>

#include "report/parts/header.h"

/* A counted number, or its limits. */
static void known_text(struct bp_known_total total, bool objects, struct bp_quantity_style style,
	char *to, size_t bytes)
{
	char low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES];
	if (objects) {
		bp_count_text(total.low, low);
		bp_count_text(total.high, high);
	} else {
		bp_bytes_text(total.low, style, low);
		bp_bytes_text(total.high, style, high);
	}
	if (total.low == total.high)
		snprintf(to, bytes, "%s", high);
	else if (total.high == UINT64_MAX)
		snprintf(to, bytes, "at least %s", low);
	else
		snprintf(to, bytes, "%s to %s", low, high);
}

void bp_off_text(const struct bp_aggregation *aggregation, char *buffer)
{
	const struct bp_sampling *sampling = &aggregation->sampling;
	char off[BP_QUANTITY_BYTES], whole[BP_QUANTITY_BYTES];
	bp_time_text(sampling->all_off_ns, off);
	bp_time_text(aggregation->duration_ns, whole);
	if (sampling->all_off_ns == 0)
		snprintf(buffer, BP_SPAN_BYTES, "a time");
	else if (sampling->all_off_ns < sampling->off_ns)
		snprintf(buffer, BP_SPAN_BYTES, "%.32s of %.32s, and longer in some processes", off,
			whole);
	else
		snprintf(buffer, BP_SPAN_BYTES, "%.32s of %.32s", off, whole);
}

void bp_write_pauses(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_sampling *sampling = &aggregation->sampling;
	char off[BP_SPAN_BYTES], who[64] = "";
	char bytes[2 * BP_QUANTITY_BYTES + 8], objects[2 * BP_QUANTITY_BYTES + 8];
	char text[1024];
	const bool exact = sampling->bytes_off.low == sampling->bytes_off.high &&
			   sampling->objects_off.low == sampling->objects_off.high;
	if (!sampling->paused)
		return;
	bp_off_text(aggregation, off);
	known_text(sampling->bytes_off, false, bp_style_of(options), bytes, sizeof bytes);
	known_text(sampling->objects_off, true, bp_style_of(options), objects, sizeof objects);
	if (sampling->processes > 1 &&
		(sampling->all_off_ns == 0 || sampling->all_off_ns >= sampling->off_ns))
		snprintf(who, sizeof who, " in %u of %u processes", sampling->paused_processes,
			sampling->processes);
	snprintf(text, sizeof text,
		"sampling was off for %s%s: %s in %s objects were allocated meanwhile%s, and "
		"are in no figure and no row",
		off, who, bytes, objects, exact ? ", exactly" : "");
	bp_write_warning(options, text, out);
}
