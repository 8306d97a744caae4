/* SPDX-License-Identifier: MIT */
/*
 * A profile of one module, filled and resolved.
 */
#include "question.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool add_module(const struct question *question, struct bp_profile *profile,
	struct bp_module_id *ret_module, struct bp_error *error)
{
	struct bp_module module = { .start = 0, .end = UINT64_MAX };
	struct stat status;
	const char *build_id = question->build_id != NULL ? question->build_id : "";
	module.file_bytes = question->file_bytes;
	module.file_mtime_ns = question->file_mtime_ns;
	if (!question->unknown_file && question->file_bytes == 0 &&
		stat(question->path, &status) == 0) {
		module.file_bytes = (uint64_t)status.st_size;
		module.file_mtime_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u +
				       (uint64_t)status.st_mtim.tv_nsec;
	}
	return bp_profile_string(
		       profile, question->path, strlen(question->path), &module.path, error) &&
	       bp_profile_string(profile, build_id, strlen(build_id), &module.build_id, error) &&
	       bp_profile_add_module(profile, &module, ret_module, error);
}

bool ask(const struct question *question, const uint64_t *addresses, uint32_t count,
	struct answer *answer, struct bp_error *error)
{
	struct bp_symbol_options options = {
		.debug_directory = question->debug_directory,
		.debuginfod_urls = question->debuginfod_urls,
		.cache = question->cache,
		.verbose = question->verbose,
	};
	struct bp_module_id module;
	memset(answer, 0, sizeof *answer);
	answer->count = count;
	answer->locations = calloc(count + 1u, sizeof *answer->locations);
	if (answer->locations == NULL)
		return bp_error_set(error, "no memory");
	if (!bp_profile_init(&answer->profile, error) ||
		!add_module(question, &answer->profile, &module, error))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!bp_profile_add_location(&answer->profile, module, addresses[i],
			    question->exact, &answer->locations[i], error))
			return false;
	return bp_symbols_resolve(&answer->profile, &options, &answer->summary, error);
}

void answer_finish(struct answer *answer)
{
	free(answer->locations);
	bp_profile_finish(&answer->profile);
	memset(answer, 0, sizeof *answer);
}

uint32_t answer_depth(const struct answer *answer, uint32_t index)
{
	return answer->profile.locations.data[answer->locations[index].i].frame_count;
}

const struct bp_frame *answer_frame(const struct answer *answer, uint32_t index, uint32_t frame)
{
	const struct bp_location *location =
		&answer->profile.locations.data[answer->locations[index].i];
	if (frame >= location->frame_count)
		return NULL;
	return &answer->profile.frames.data[location->first_frame.i + frame];
}

const char *answer_text(const struct answer *answer, struct bp_string_id string)
{
	return bp_profile_text(&answer->profile, string);
}
