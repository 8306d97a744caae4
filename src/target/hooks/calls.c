/* SPDX-License-Identifier: MIT */
/*
 * What the program may ask of the recorder in its own process: the weak symbols of
 * bytepoll/bytepoll.h. Structs come with the size that the program was built with: a larger one is
 * filled with zeros beyond what is known here, of a smaller one so much is filled.
 */
#include "bytepoll/bytepoll.h"

#include "base/attributes.h"
#include "recognition/hot.h"
#include "recorder/program/labels.h"
#include "recorder/program/listeners.h"
#include "recorder/program/program_calls.h"
#include "recorder/recorder.h"

static void give(void *to, size_t to_bytes, const void *from, size_t from_bytes)
{
	__builtin_memcpy(to, from, to_bytes < from_bytes ? to_bytes : from_bytes);
	if (to_bytes > from_bytes)
		__builtin_memset((char *)to + from_bytes, 0, to_bytes - from_bytes);
}

BP_EXPORT bool bytepoll_status(struct bp_status *ret_status, size_t bytes)
{
	struct bp_status status;
	struct bp_snapshot now;
	/* The totals take a moment, which is noted like any other. */
	if (bp_status_read(&status) && bp_window_snapshot(&now)) {
		status.bytes_low = now.bytes_low;
		status.bytes_high = now.bytes_high;
		status.objects_low = now.objects_low;
		status.objects_high = now.objects_high;
	}
	give(ret_status, bytes, &status, sizeof status);
	return true;
}

BP_EXPORT bool bytepoll_start(void)
{
	return bp_steer_switch(true);
}

BP_EXPORT bool bytepoll_stop(void)
{
	return bp_steer_switch(false);
}

BP_EXPORT bool bytepoll_interval(uint64_t interval_bytes)
{
	return bp_steer_interval(interval_bytes);
}

BP_EXPORT bool bytepoll_snapshot(struct bp_snapshot *ret_snapshot, size_t bytes)
{
	struct bp_snapshot snapshot;
	if (!bp_window_snapshot(&snapshot))
		return false;
	give(ret_snapshot, bytes, &snapshot, sizeof snapshot);
	return true;
}

BP_EXPORT bool bytepoll_window_start(struct bp_window_token *ret_token, uint32_t flags)
{
	return bp_window_begin(ret_token, flags);
}

BP_EXPORT bool bytepoll_window_stop(
	struct bp_window_token *token, struct bp_window_profile *ret_profile, size_t bytes)
{
	struct bp_window_profile profile;
	if (!bp_window_end(token, &profile))
		return false;
	give(ret_profile, bytes, &profile, sizeof profile);
	return true;
}

BP_EXPORT bool bytepoll_tag(const char *key, const char *value, uint32_t *ret_before)
{
	return key != NULL && bp_labels_change(key, value, ret_before);
}

BP_EXPORT uint32_t bytepoll_tags(void)
{
	return bp_hot.labels;
}

BP_EXPORT void bytepoll_tags_put(uint32_t tags)
{
	bp_hot.labels = tags;
}

BP_EXPORT uint32_t bytepoll_listen(bp_listener *listener, void *context)
{
	return bp_recorder_is_on() ? bp_listeners_add(listener, context) : 0;
}

BP_EXPORT bool bytepoll_unlisten(uint32_t number)
{
	return bp_listeners_remove(number);
}
