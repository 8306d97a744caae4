/* SPDX-License-Identifier: MIT */
/*
 * Each process of the tree is a profile of its own here: its exact sums say what was live at its
 * own end, and nothing of the others. Symbols are needed, since rows are by function.
 */
#include "cli/options/symbol_options.h"
#include "cli/verify/verify_tree.h"

#include <stdio.h>

#include "cli/files/recordings_here.h"
#include "cli/files/tree.h"
#include "cli/say.h"
#include "cli/terminal/terminal.h"
#include "import/import.h"
#include "report/verify/verify_report.h"
#include "symbols/symbols.h"

static bool is_counted(const struct bp_tree_file *file)
{
	return (file->header.flags_skippable & BP_HEADER_VERIFY) != 0 && !file->running;
}

static bool add_file(struct bp_verify *truth, const char *path,
	const struct bp_symbol_options *symbols, struct bp_error *error)
{
	struct bp_symbol_summary summary;
	struct bp_profile profile;
	if (!bp_profile_init(&profile, error))
		return false;
	/* The sums are kept by the recorder, by stacks of C: by functions of Python no object would
	 * be where it was counted. */
	profile.frames_shown.python = BP_PYTHON_FRAMES_NATIVE;
	const bool good = bp_import_one_process(path, &profile, error) &&
			  bp_profile_finish_import(&profile, false, error) &&
			  bp_symbols_resolve(&profile, symbols, &summary, error) &&
			  bp_verify_add(truth, &profile, error);
	bp_profile_finish(&profile);
	return good;
}

/* Why there is nothing to compare. */
static bool refuse(
	const char *file, const struct bp_tree *tree, unsigned running, struct bp_error *error)
{
	struct bp_profile profile;
	if (running > 0)
		return bp_error_set(
			error, "%s: its program still runs: verify it when it has ended", file);
	if (tree->count > 0 && tree->files[0].header.recognition == BP_RECOGNITION_NONE)
		return bp_error_set(error,
			"%s: its program ran unprofiled: there is nothing to verify (--verify "
			"counts over glibc's own malloc alone)",
			file);
	if (tree->count > 0)
		return bp_error_set(error,
			"%s: its objects were not counted: record it with `bytepoll run --verify`",
			file);
	/* No trace at all: the importers have the words. */
	if (!bp_recording_is_there(file, error) || !bp_profile_init(&profile, error))
		return false;
	if (bp_import_file(file, &profile, error))
		bp_error_set(error, "%s: is no trace that `bytepoll run --verify` left", file);
	bp_profile_finish(&profile);
	return false;
}

bool bp_verify_tree_read(const char *file, const struct bp_verify_options *options,
	struct bp_verify *ret_truth, unsigned *ret_running, struct bp_error *error)
{
	const struct bp_symbol_options symbols = bp_symbol_options_with(options->debug_directory);
	struct bp_verify truth;
	struct bp_tree tree;
	unsigned counted = 0, running = 0;
	if (!bp_tree_read(file, &tree, error))
		return false;
	for (size_t i = 0; i < tree.count; i++) {
		counted += is_counted(&tree.files[i]);
		running += tree.files[i].running;
	}
	bool good = counted > 0 || refuse(file, &tree, running, error);
	bp_verify_init(&truth, &options->query, options->error, counted);
	for (size_t i = 0; good && i < tree.count; i++)
		if (is_counted(&tree.files[i]))
			good = add_file(&truth, tree.files[i].path, &symbols, error);
	bp_tree_finish(&tree);
	if (!good) {
		bp_verify_finish(&truth);
		return false;
	}
	bp_verify_judge(&truth);
	*ret_truth = truth;
	*ret_running = running;
	return true;
}

void bp_verify_tree_print(const char *file, bool quiet)
{
	const struct bp_verify_options options = { .error = BP_VERIFY_ERROR };
	struct bp_report_options style = { 0 };
	struct bp_verify truth;
	struct bp_error error = { 0 };
	unsigned running;
	if (!bp_verify_tree_read(file, &options, &truth, &running, &error)) {
		bp_say(stderr, "bytepoll: %s", error.text);
		return;
	}
	bp_terminal_look(&style);
	if (!quiet || truth.verdict != BP_VERIFY_GOOD) {
		putc('\n', stderr);
		bp_verify_write_text(&truth, &style, stderr);
	}
	bp_verify_finish(&truth);
}
