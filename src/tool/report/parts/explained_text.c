/* SPDX-License-Identifier: MIT */
/* Words for resident/explained.h; see explained_text.h. */
#include "report/parts/explained_text.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/attributes.h"
#include "policy/shown.h"
#include "report/parts/header.h"
#include "text/json_values.h"

void bp_share_explained_text(const struct bp_interval *share, char *buffer)
{
	const bool vague = bp_is_vague(share);
	const double shown = vague ? share->high : share->estimate;
	if (shown < 0.01)
		snprintf(buffer, BP_QUANTITY_BYTES, "malloc explains less than 1 %%");
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "malloc explains %s%.0f %%",
			vague ? "at most " : "", vague ? ceil(100 * shown) : 100 * shown);
}

void bp_explained_text(
	const struct bp_explained *explained, struct bp_quantity_style style, char *buffer)
{
	const struct bp_interval share = bp_explained_share(explained);
	char resident[BP_QUANTITY_BYTES], live[BP_QUANTITY_BYTES], time[BP_QUANTITY_BYTES];
	char part[BP_QUANTITY_BYTES];
	bp_bytes_text(explained->resident_bytes, style, resident);
	bp_bytes_figure_text(&explained->malloc_live, style, live);
	bp_time_text(explained->time_ns, time);
	bp_share_explained_text(&share, part);
	if (explained->since_attached)
		snprintf(buffer, BP_EXPLAINED_BYTES,
			"%sprocess at its highest %s (at %s); of what it was given by malloc since "
			"it was attached to, it held %s then",
			explained->one_of_several ? "first " : "", resident, time, live);
	else
		snprintf(buffer, BP_EXPLAINED_BYTES,
			"%sprocess at its highest %s (at %s); malloc then %s: %s",
			explained->one_of_several ? "first " : "", resident, time, live, part);
}

BP_PRINTF(2, 3) static void add(char *buffer, const char *format, ...)
{
	const size_t used = strlen(buffer);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(buffer + used, BP_EXPLAINED_BYTES - used, format, arguments);
	va_end(arguments);
}

void bp_explained_advice(
	const struct bp_explained *explained, struct bp_quantity_style style, char *buffer)
{
	char bytes[BP_QUANTITY_BYTES];
	*buffer = '\0';
	if (explained->since_attached) {
		add(buffer, "what it held from before is not known, and in no figure: bytepoll run "
			    "records a program from its start");
		return;
	}
	if (explained->files) {
		bp_bytes_text(explained->file_bytes, style, bytes);
		add(buffer, "%s of it are pages of files", bytes);
	}
	if (explained->kept) {
		const struct bp_figure peak = bp_shown_peak(&explained->peak);
		bp_bytes_figure_text(&peak, style, bytes);
		add(buffer, "%smalloc held up to %s before, and may keep what was freed",
			*buffer != '\0' ? "; " : "", bytes);
	}
	for (int heap = 0; heap < BP_OWN_HEAP_COUNT; heap++)
		if ((explained->heaps & 1u << heap) != 0) {
			add(buffer, "%s%s; %s", *buffer != '\0' ? "; " : "",
				bp_own_heap_text((enum bp_own_heap)heap),
				bp_own_heap_remedy((enum bp_own_heap)heap));
			return;
		}
	if (!explained->kept)
		add(buffer,
			"%sthe rest is memory that the program maps itself (mmap), an allocator of "
			"its own, stacks, or what malloc keeps free: bytepoll report --resident "
			"takes it apart%s",
			*buffer != '\0' ? "; " : "",
			explained->mappings_known ? ", and --metric mapped says who mapped memory"
						  : "");
}

void bp_explained_beyond_text(
	const struct bp_explained *explained, struct bp_quantity_style style, char *buffer)
{
	char bytes[BP_QUANTITY_BYTES];
	*buffer = '\0';
	if (explained->peak_beyond_bytes == 0)
		return;
	bp_bytes_text(explained->peak_beyond_bytes, style, bytes);
	add(buffer,
		"the peak is what was asked of malloc: at least %s of it were resident at no time: "
		"the program never wrote to them, or they were swapped out, or they lie in pages of "
		"hugetlbfs, which the kernel does not count as resident",
		bytes);
}

const char *bp_explained_heap(const struct bp_explained *explained)
{
	for (int heap = 0; heap < BP_OWN_HEAP_COUNT; heap++)
		if ((explained->heaps & 1u << heap) != 0)
			return bp_own_heap_what((enum bp_own_heap)heap);
	return NULL;
}

void bp_explained_rest_text(const struct bp_explained *explained, char *buffer, size_t bytes)
{
	const char *heap =
		explained == NULL || !explained->little ? NULL : bp_explained_heap(explained);
	*buffer = '\0';
	if (explained != NULL && explained->since_attached)
		snprintf(buffer, bytes, " (what it held from before among it)");
	else if (heap != NULL)
		snprintf(buffer, bytes, " (%s among it)", heap);
}

/* The word for the cause that the advice names last. */
static const char *cause_of(const struct bp_explained *explained)
{
	if (explained->since_attached)
		return "attached";
	for (int heap = 0; heap < BP_OWN_HEAP_COUNT; heap++)
		if ((explained->heaps & 1u << heap) != 0)
			return bp_own_heap_name((enum bp_own_heap)heap);
	return explained->kept ? "kept" : explained->files ? "files" : "mapped";
}

void bp_json_explained(struct bp_json *json, const struct bp_explained *explained)
{
	const struct bp_quantity_style style = { .utf8 = true };
	const struct bp_interval share = bp_explained_share(explained);
	const bool little = explained->little;
	char text[BP_EXPLAINED_BYTES];
	bp_json_object(json, "explained", BP_JSON_SPACED);
	bp_json_bool(json, "little", little);
	bp_json_seconds(json, "at", explained->time_ns);
	bp_json_interval(json, "share", &share, 1);
	bp_json_text(json, "cause", little ? cause_of(explained) : NULL);
	if (little)
		bp_explained_text(explained, style, text);
	bp_json_text(json, "text", little ? text : NULL);
	if (little)
		bp_explained_advice(explained, style, text);
	bp_json_text(json, "advice", little ? text : NULL);
	bp_json_whole(json, "peak_beyond_bytes", explained->peak_beyond_bytes);
	bp_json_end(json);
}

void bp_write_explained(const struct bp_report_options *options, FILE *out)
{
	const struct bp_explained *explained = options->explained;
	char text[BP_EXPLAINED_BYTES];
	if (explained == NULL)
		return;
	bp_explained_beyond_text(explained, bp_style_of(options), text);
	if (*text != '\0')
		bp_write_warning(options, text, out);
	if (!explained->little)
		return;
	bp_explained_text(explained, bp_style_of(options), text);
	bp_write_warning(options, text, out);
	bp_explained_advice(explained, bp_style_of(options), text);
	bp_write_wrapped(options, options->utf8 ? "→" : "->", text, out);
}
