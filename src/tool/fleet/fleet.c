/* SPDX-License-Identifier: MIT */
/* Questions to a store: their script is run, and its answer taken (answer.h); see fleet.h. */
#include "fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "fleet/answer.h"
#include "fleet/engine.h"
#include "fleet/fleet_script.h"

static bool nothing_passes(struct bp_error *error)
{
	return bp_error_set(error, "no recording in the store is meant: see --service, --release, "
				   "--host, --tag, --since and --before");
}

static bool nothing_is_left(uint32_t left_out, struct bp_error *error)
{
	return left_out == 0 ? nothing_passes(error)
			     : bp_error_set(error,
				       "none of the %u runs was recorded at both moments: choose "
				       "others by --from and --until",
				       left_out);
}

/* Asks, and takes the whole answer, which the caller finishes in any case. */
static bool ask(const struct bp_store *store, const struct bp_fleet_filter *filter,
	struct bp_fleet_detail detail, bool apart, struct bp_answer *answer, struct bp_error *error)
{
	struct bp_store sums = { .count = 0 };
	FILE *script;
	if (!bp_answer_init(answer, apart, filter->times.window, detail.origin, error))
		return false;
	if (filter->times.window && !bp_store_has_table(store, BP_TABLE_READING, error))
		return false;
	bool good = bp_store_sums(store, &sums, error) && bp_duckdb_script(&script, error);
	if (good) {
		bp_fleet_write_question(store, &sums, filter, detail, script);
		good = bp_engine_run(store, script, bp_answer_take, answer, error);
	}
	free(sums.folders);
	good = good && (answer->count > 0 || nothing_is_left(answer->left_out, error)) &&
	       bp_answer_end(answer, error);
	if (good && filter->moments != NULL)
		filter->moments->left_out = answer->left_out;
	for (uint32_t i = 0; good && i < answer->count; i++)
		answer->parts[i].profile.of_day = filter->moments == NULL && filter->times.of_day;
	return good;
}

/* The profile of a part, which is the caller's from now on. */
static struct bp_profile take_out(struct bp_answer_part *part)
{
	const struct bp_profile profile = part->profile;
	memset(&part->profile, 0, sizeof part->profile);
	return profile;
}

bool bp_fleet_read(const struct bp_store *store, const struct bp_fleet_filter *filter,
	struct bp_fleet_detail detail, struct bp_profile *ret_profile, struct bp_error *error)
{
	struct bp_answer answer;
	const bool good = ask(store, filter, detail, false, &answer, error);
	if (good)
		*ret_profile = take_out(&answer.parts[0]);
	bp_answer_finish(&answer);
	return good;
}

void bp_fleet_hosts_finish(struct bp_fleet_hosts *hosts)
{
	for (uint32_t i = 0; i < hosts->count; i++) {
		free(hosts->data[i].name);
		bp_profile_finish(&hosts->data[i].profile);
	}
	free(hosts->data);
	*hosts = (struct bp_fleet_hosts){ .count = 0 };
}

/* The parts of the answer as hosts; false: no memory. */
static bool take_hosts(struct bp_answer *answer, struct bp_fleet_hosts *hosts)
{
	hosts->data = calloc(answer->count, sizeof *hosts->data);
	if (hosts->data == NULL)
		return false;
	for (uint32_t i = 0; i < answer->count; i++) {
		struct bp_fleet_host *host = &hosts->data[hosts->count++];
		host->name = strdup(bp_answer_host(answer, &answer->parts[i]));
		host->profile = take_out(&answer->parts[i]);
		if (host->name == NULL)
			return false;
	}
	return true;
}

bool bp_fleet_read_hosts(const struct bp_store *store, const struct bp_fleet_filter *filter,
	struct bp_fleet_detail detail, struct bp_fleet_hosts *ret_hosts, struct bp_error *error)
{
	struct bp_fleet_hosts hosts = { .count = 0 };
	struct bp_answer answer;
	bool good = ask(store, filter, detail, true, &answer, error);
	if (good && !take_hosts(&answer, &hosts)) {
		bp_fleet_hosts_finish(&hosts);
		good = bp_error_set(error, "out of memory");
	}
	bp_answer_finish(&answer);
	if (good)
		*ret_hosts = hosts;
	return good;
}
