/* SPDX-License-Identifier: MIT */
/* See content_id.h. */
#include "fleet/content_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static uint64_t with_number(uint64_t hash, uint64_t number)
{
	return bp_hash_u64(hash ^ number) + 0x9E3779B97F4A7C15u;
}

/* The length ends a text, so that two neighbours cannot be divided otherwise. */
static uint64_t with_text(const struct bp_profile *profile, uint64_t hash, struct bp_string_id id)
{
	const char *text = bp_profile_text(profile, id), *at = text;
	for (; *at != '\0'; at++)
		hash = with_number(hash, (unsigned char)*at);
	return with_number(hash, (uint64_t)(at - text) << 8 | 0xff);
}

uint32_t bp_process_id_place(const char *id, uint32_t places)
{
	char digits[17];
	snprintf(digits, sizeof digits, "%s", id);
	return (uint32_t)(bp_hash_u64(strtoull(digits, NULL, 16)) % places);
}

static uint64_t foreign_id(
	const struct bp_profile *profile, const struct bp_process *process, uint64_t seed)
{
	uint64_t hash = with_text(profile, seed, process->program);
	hash = with_text(profile, hash, process->command_line);
	const uint64_t facts[] = { process->pid, process->start_real_ns, process->start_time_ns,
		process->end_time_ns, process->samples, process->sampled_bytes,
		process->bytes_allocated.low, process->objects_allocated.low };
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		hash = with_number(hash, facts[i]);
	return hash;
}

void bp_trace_id_text(const uint8_t id[16], char ret_text[BP_PROCESS_ID_BYTES])
{
	for (size_t i = 0; i < 16; i++)
		snprintf(ret_text + 2 * i, 3, "%02x", id[i]);
}

void bp_process_content_id(
	const struct bp_profile *profile, uint32_t number, char ret_id[BP_PROCESS_ID_BYTES])
{
	static const uint8_t none[16];
	const struct bp_process *process = &profile->processes.data[number];
	if (memcmp(process->trace_id, none, sizeof none) == 0) {
		snprintf(ret_id, BP_PROCESS_ID_BYTES, "%016llx%016llx",
			(unsigned long long)foreign_id(profile, process, 1),
			(unsigned long long)foreign_id(profile, process, 2));
		return;
	}
	bp_trace_id_text(process->trace_id, ret_id);
}

uint64_t bp_frame_content_id(const struct bp_profile *profile, const struct bp_location *location,
	const struct bp_frame *frame)
{
	const struct bp_module *module = &profile->modules.data[frame->module.i];
	uint64_t hash = with_text(profile, 0, frame->function);
	hash = with_text(profile, hash, frame->system_name);
	hash = with_text(profile, hash, frame->source_file);
	hash = with_text(profile, hash, module->path);
	hash = with_text(profile, hash, module->build_id);
	hash = with_number(hash, frame->line);
	hash = with_number(hash, location->address);
	hash = with_number(hash, frame->named | frame->inlined << 1 | frame->interpreted << 2);
	return hash == 0 ? 1 : hash;
}

uint64_t bp_stack_content_id(uint8_t flags, const uint64_t *frames, uint32_t count)
{
	uint64_t hash = with_number(0, (uint64_t)count << 8 | flags);
	for (uint32_t i = 0; i < count; i++)
		hash = with_number(hash, frames[i]);
	return count == 0 && flags == 0 ? 0 : hash == 0 ? 1 : hash;
}
