/* SPDX-License-Identifier: MIT */
/*
 * bytepoll/bytepoll.h and annotate.h from C++: scopes that are left by exceptions, a listener that
 * is a lambda, a window. Built three times: as it comes, linked with the recorder, and at a fixed
 * address. Says whether it is profiled.
 */
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "bytepoll/annotate.h"
#include "bytepoll/bytepoll.h"

#include "check.h"

static void allocate(int objects)
{
	for (int i = 0; i < objects; i++) {
		int *object = new int[10];
		KEEP(object);
		delete[] object;
	}
}

static void inner()
{
	BP_TAG_SCOPE("scope", "inner");
	allocate(10);
	throw std::runtime_error("out of it");
}

static void outer()
{
	BP_TAG_SCOPE("scope", "outer");
	const uint32_t tags = bp_tags_get();
	try {
		inner();
	} catch (const std::runtime_error &) {
		/* The exception itself was made in there. */
	}
	CHECK(bp_tags_get() == tags);
	allocate(5);
}

int main()
{
	bp_status status = {};
	bp_window_token token;
	bp_window_profile profile = {};
	uint64_t events = 0;
	const bool profiled = bp_status_get(&status) && status.profiled;
	const uint32_t number = bp_listen(
		[](const bp_event *event, void *context) {
			*static_cast<uint64_t *>(context) += event->what == BP_EVENT_SAMPLED;
		},
		&events);
	CHECK(bp_window_start(&token, BP_WINDOW_SAMPLE) == profiled);
	outer();
	CHECK(bp_window_stop(&token, &profile) == profiled && bp_unlisten(number));
	bp_pool_alloc(&token, &events, 8);
	bp_pool_destroy(&token);
	CHECK(!profiled || (profile.samples == events && events >= 15));
	CHECK(write(1, profiled ? "profiled\n" : "not profiled\n", profiled ? 9u : 13u) > 0);
	return 0;
}
