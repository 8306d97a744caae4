/* SPDX-License-Identifier: MIT */
/*
 * What hosts name, and labels, in the profile: types, frames of their own, stacks, sets of labels,
 * from the trace itself and from its folded part. Argument: the folder of the traces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "import/import.h"
#include "trace/format.h"

static const char *folder;

static void import_trace(struct bp_profile *profile, const char *name)
{
	char path[4096];
	struct bp_error error = { .text = "" };
	snprintf(path, sizeof path, "%s/%s.bpt", folder, name);
	if (!bp_profile_init(profile, &error) || !bp_import_file(path, profile, &error))
		fail_msg("%s", error.text);
}

static struct bp_sample of_size(const struct bp_profile *profile, uint64_t size)
{
	for (uint32_t i = 1; i < profile->samples.count; i++)
		if (bp_profile_sample(profile, i).size == size)
			return bp_profile_sample(profile, i);
	fail_msg("no sample of %u bytes", (unsigned)size);
	return (struct bp_sample){ 0 };
}

static const char *type_of(const struct bp_profile *profile, const struct bp_sample *sample)
{
	return bp_profile_text(profile, profile->types.data[sample->type.i].name);
}

/* Frame `i` of a sample's stack, from the innermost. */
static const struct bp_frame *frame_of(
	const struct bp_profile *profile, const struct bp_sample *sample, uint32_t i)
{
	const struct bp_stack *stack = &profile->stacks.data[sample->stack.i];
	assert_true(i < stack->depth);
	const struct bp_location *location =
		&profile->locations
			 .data[profile->stack_locations.data[stack->first_location + i].i];
	assert_true(location->resolved && location->frame_count == 1);
	return &profile->frames.data[location->first_frame.i];
}

/* The value of the label `key` of a set. False: it has no such label. */
static bool value_of_label(const struct bp_profile *profile, struct bp_labels_id labels,
	struct bp_string_id key, struct bp_string_id *ret_value)
{
	const struct bp_labels *set = &profile->labels.data[labels.i];
	for (uint32_t i = 0; i < set->count; i++) {
		const struct bp_label *label = &profile->label_pairs.data[set->first + i];
		if (label->key.i == key.i) {
			*ret_value = label->value;
			return true;
		}
	}
	return false;
}

static void assert_label(const struct bp_profile *profile, const struct bp_sample *sample,
	const char *key, const char *expected)
{
	struct bp_error error;
	struct bp_string_id id, value = { 0 };
	assert_true(bp_profile_string((struct bp_profile *)profile, key, strlen(key), &id, &error));
	assert_int_equal(value_of_label(profile, sample->labels, id, &value), expected != NULL);
	if (expected != NULL)
		assert_string_equal(bp_profile_text(profile, value), expected);
}

static void names(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_trace(&profile, "host");
	struct bp_sample sample = of_size(&profile, 100);
	assert_string_equal(type_of(&profile, &sample), "node");
	assert_int_equal(sample.kind, BP_KIND_SMALL);
	assert_int_equal(sample.labels.i, 0);
	assert_true(!sample.temporary && sample.free_time_ns == 2300);
	const struct bp_frame *frame = frame_of(&profile, &sample, 0);
	assert_string_equal(bp_profile_text(&profile, frame->function), "parse\033[31m");
	assert_string_equal(bp_profile_text(&profile, frame->source_file), "a.lua");
	assert_true(frame->line == 7 && frame->named);
	assert_string_equal(
		bp_profile_text(&profile, profile.modules.data[frame->module.i].path), "[lua 5.4]");
	frame = frame_of(&profile, &sample, 1);
	assert_string_equal(bp_profile_text(&profile, frame->function), "main");

	/* Told before its names are, of a type whose name has a zero in it, with labels. */
	sample = of_size(&profile, 5000);
	assert_string_equal(type_of(&profile, &sample), "\xff\xfe");
	assert_label(&profile, &sample, "tenant", "42");
	assert_label(&profile, &sample, "phase", "load");
	assert_label(&profile, &sample, "phas", NULL);
	frame = frame_of(&profile, &sample, 0);
	assert_false(frame->named);
	assert_string_equal(bp_profile_text(&profile, frame->function), "(frame not named)");
	assert_int_equal(profile.stacks.data[sample.stack.i].flags, BP_PROFILE_STACK_CUT);

	/* A stack of addresses came first; labels that are hardly any. */
	sample = of_size(&profile, 64);
	assert_int_equal(profile.stacks.data[sample.stack.i].depth, 2);
	assert_int_equal(sample.type.i, 0);
	assert_int_equal(profile.labels.data[sample.labels.i].count, 3);
	assert_label(&profile, &sample, "alone", "");
	assert_label(&profile, &sample, "", "empty key");

	/* Nothing that it refers to is there. */
	sample = of_size(&profile, 65);
	assert_true(sample.type.i == 0 && sample.stack.i == 0 && sample.kind == BP_KIND_POOL);
	assert_int_equal(profile.processes.data[1].damaged_chunks, 5);
	bp_profile_finish(&profile);
}

static void uncounted(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_trace(&profile, "host_uncounted");
	const struct bp_process *process = &profile.processes.data[1];
	assert_true(process->host && process->lacks == (BP_LACKS_FREES | BP_LACKS_OBJECT_COUNTERS));
	assert_true(process->charge == 0 && !process->ended && process->profiled);
	assert_int_equal(process->bytes_allocated.low, 9000);
	assert_true(process->bytes_allocated.high >= BP_ARMED_WITHOUT_LIMIT);
	assert_true(process->objects_allocated.low == 0);
	bp_profile_finish(&profile);
}

static void folded(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_trace(&profile, "told_pair");
	assert_int_equal(profile.processes.data[1].samples, 7);
	struct bp_sample sample = of_size(&profile, 100);
	assert_int_equal(sample.more, 4);
	assert_string_equal(type_of(&profile, &sample), "node");
	assert_label(&profile, &sample, "tenant", "42");
	assert_string_equal(
		bp_profile_text(&profile, frame_of(&profile, &sample, 0)->function), "main");
	sample = of_size(&profile, 200);
	assert_string_equal(type_of(&profile, &sample), "node");
	assert_int_equal(sample.labels.i, 0);
	sample = of_size(&profile, 300);
	assert_label(&profile, &sample, "phase", "load");
	bp_profile_finish(&profile);
}

/* Equal names and labels of two traces are one entry. */
static void together(void **state)
{
	struct bp_profile profile;
	struct bp_error error = { .text = "" };
	char path[4096];
	(void)state;
	import_trace(&profile, "host");
	const uint32_t types = profile.types.count, labels = profile.labels.count;
	snprintf(path, sizeof path, "%s/told_pair.bpt", folder);
	assert_true(bp_import_file(path, &profile, &error));
	assert_int_equal(profile.types.count, types);
	assert_int_equal(profile.labels.count, labels);
	bp_profile_finish(&profile);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(uncounted),
		cmocka_unit_test(folded),
		cmocka_unit_test(together),
	};
	if (argc != 2)
		return 2;
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
