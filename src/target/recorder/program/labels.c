/* SPDX-License-Identifier: MIT */
/* See labels.h. */
#include "recorder/program/labels.h"

#include "base/attributes.h"
#include "recorder/visit.h"
#include "tables/text_table.h"

static struct bp_text_table table = { .tag = BP_TAG_LABELS,
	.texts_max = BP_LABELS_SETS,
	.bytes_max = BP_LABELS_TABLE_BYTES,
	.generation = 1 };

/* The number of the changed set. */
static bool changed(uint32_t before, const char *key, const char *value, uint32_t *ret_after)
{
	char to[BP_LABELS_BYTES];
	size_t bytes;
	const struct bp_text *text = bp_text_of(&table, before);
	if (!bp_label_set_with(text == NULL ? "" : text->text, text == NULL ? 0 : text->bytes, key,
		    value, to, &bytes))
		return false;
	uint32_t after = bytes == 0 ? 0 : bp_text_id(&table, to, bytes);
	/* What is not known stays so, until a scope before it comes back. */
	if (before == BP_LABELS_UNKNOWN || (bytes != 0 && after == 0))
		after = BP_LABELS_UNKNOWN;
	*ret_after = after;
	return true;
}

bool bp_labels_change(const char *key, const char *value, uint32_t *ret_before)
{
	struct bp_visit visit;
	const uint32_t before = bp_hot.labels;
	if (!bp_visit_begin(&visit, 0))
		return false;
	const bool good = changed(before, key, value, &visit.hot->labels);
	bp_visit_end(&visit, visit.left);
	if (good && ret_before != NULL)
		*ret_before = before;
	return good;
}

uint32_t bp_labels_of(uint32_t labels)
{
	if (bp_likely(labels == 0))
		return 0;
	if (bp_text_write(&table, labels, &bp_recorder.writer))
		return labels;
	bp_writer_lost(&bp_recorder.writer, BP_LOSS_NAME);
	return 0;
}

void bp_labels_lock(void)
{
	bp_lock_take(&table.lock);
}

void bp_labels_unlock(void)
{
	bp_lock_release(&table.lock);
}

void bp_labels_after_fork(void)
{
	bp_text_after_fork(&table);
}
