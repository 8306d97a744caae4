/* SPDX-License-Identifier: MIT */
/*
 * Types, frames, stacks and labels of bytepoll/host.h. Contents, as names.h compares them:
 *
 *	type	the bytes of its name
 *	frame	line (4 bytes), length of the function's name (4), the name, the file's
 *	stack	flags (4 bytes), the frames' numbers (4 each)
 *	labels	the text of the set (trace/label_set.h)
 */
#include <errno.h>

#include "base/attributes.h"
#include "host/host_state.h"
#include "trace/label_set.h"

_Static_assert(BP_HOST_DEPTH_MAX == BP_NAMED_STACK_MAX_DEPTH, "the writer takes them all");

struct frame {
	uint32_t line, function_bytes;
	char text[2 * BP_NAME_MAX_BYTES];
};

struct stack {
	uint32_t flags, frames[BP_HOST_DEPTH_MAX];
};

static bool write_type(void *context, uint32_t id, const void *content, size_t bytes)
{
	struct bp_host *host = context;
	const uint64_t value = id;
	const struct bp_record_text text = { content, bytes };
	return bp_writer_names(&host->writer, BP_TAG_TYPE, &value, 1, &text, 1);
}

static bool write_labels(void *context, uint32_t id, const void *content, size_t bytes)
{
	struct bp_host *host = context;
	const uint64_t value = id;
	const struct bp_record_text text = { content, bytes };
	return bp_writer_names(&host->writer, BP_TAG_LABELS, &value, 1, &text, 1);
}

static bool write_frame(void *context, uint32_t id, const void *content, size_t bytes)
{
	struct bp_host *host = context;
	const struct frame *frame = content;
	const uint64_t values[] = { id, frame->line };
	const struct bp_record_text texts[] = { { frame->text, frame->function_bytes },
		{ frame->text + frame->function_bytes,
			bytes - offsetof(struct frame, text) - frame->function_bytes } };
	return bp_writer_names(
		&host->writer, BP_TAG_FRAME, values, BP_COUNT(values), texts, BP_COUNT(texts));
}

static bool write_stack(void *context, uint32_t id, const void *content, size_t bytes)
{
	struct bp_host *host = context;
	const struct stack *stack = content;
	return bp_writer_named_stack(&host->writer, id, stack->flags,
		(uint32_t)(bytes / sizeof(uint32_t)) - 1, stack->frames);
}

static uint32_t number(struct bp_host *host, struct bp_host_names *names, const void *content,
	size_t bytes, bp_host_write_name *write, enum bp_loss loss)
{
	const int saved_errno = errno;
	const uint32_t id = bp_host_names_id(names, &host->memory, content, bytes, write, host);
	if (id == 0)
		bp_writer_lost(&host->writer, loss);
	errno = saved_errno;
	return id;
}

uint32_t bp_host_type(struct bp_host *host, const char *name, size_t bytes)
{
	if (!bp_host_is_here(host))
		return 0;
	if (bytes > BP_NAME_MAX_BYTES)
		bytes = BP_NAME_MAX_BYTES;
	return number(host, &host->types, name, bytes, write_type, BP_LOSS_NAME);
}

const char *bp_host_type_name(const struct bp_host *host, uint32_t type)
{
	return bp_host_is_here(host) ? bp_host_names_content(&host->types, type) : "";
}

/* Copies a name as far as it goes; returns its length. */
static uint32_t put_name(char *to, const char *name)
{
	uint32_t bytes = 0;
	for (; name != NULL && name[bytes] != '\0' && bytes < BP_NAME_MAX_BYTES; bytes++)
		to[bytes] = name[bytes];
	return bytes;
}

uint32_t bp_host_frame(struct bp_host *host, const char *function, const char *file, uint32_t line)
{
	struct frame frame;
	if (!bp_host_is_here(host))
		return 0;
	frame.line = line;
	frame.function_bytes = put_name(frame.text, function);
	const uint32_t file_bytes = put_name(frame.text + frame.function_bytes, file);
	return number(host, &host->frames, &frame,
		offsetof(struct frame, text) + frame.function_bytes + file_bytes, write_frame,
		BP_LOSS_NAME);
}

uint32_t bp_host_stack(struct bp_host *host, const uint32_t *frames, uint32_t depth, bool cut)
{
	struct stack stack;
	if (depth == 0 || !bp_host_is_here(host))
		return 0;
	stack.flags = cut || depth > BP_HOST_DEPTH_MAX ? (uint32_t)BP_STACK_CUT : 0;
	if (depth > BP_HOST_DEPTH_MAX)
		depth = BP_HOST_DEPTH_MAX;
	__builtin_memcpy(stack.frames, frames, depth * sizeof *frames);
	return number(host, &host->stacks, &stack, (depth + 1) * sizeof(uint32_t), write_stack,
		BP_LOSS_STACK_TABLE);
}

uint32_t bp_host_labels(struct bp_host *host, const struct bp_host_label *labels, uint32_t count)
{
	char sets[2][BP_LABELS_BYTES];
	size_t bytes = 0;
	bool good = true;
	if (count == 0 || !bp_host_is_here(host))
		return 0;
	for (uint32_t i = 0; i < count && good; i++)
		good = labels[i].key != NULL && labels[i].value != NULL &&
		       bp_label_set_with(sets[i % 2], bytes, labels[i].key, labels[i].value,
			       sets[(i + 1) % 2], &bytes);
	if (!good) {
		bp_writer_lost(&host->writer, BP_LOSS_NAME);
		return 0;
	}
	return number(host, &host->labels, sets[count % 2], bytes, write_labels, BP_LOSS_NAME);
}
