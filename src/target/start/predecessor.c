/* SPDX-License-Identifier: MIT */
/*
 * See predecessor.h. Environment variables say how the first image of a tree begins; they could not
 * be changed for a later one without writing to what is the program's. But the traces of the tree
 * lie side by side and name their process: FILE, or FILE.d/PID.n.bpt, the newest being that with
 * the largest n.
 *
 * A number of a process is used again, and a tree may leave many traces behind. The trace of an
 * earlier process is not taken for this one's: it began before this process did, by the kernel's
 * books. What is read is a file that any owner of it may have written: nothing of it is believed
 * but words that are in range.
 */
#include "start/predecessor.h"

#include "base/attributes.h"
#include "base/clock.h"
#include "base/system_call.h"
#include "start/tree_folder.h"
#include "trace/format.h"

#define NUMBERS_MAX 10000u
#define TICK_NS 10000000u /* of /proc/PID/stat: USER_HZ is 100 on every machine we know */
#define STAT_BYTES 1024
#define STARTED_FIELD 20 /* the 22nd, the name in brackets being the 2nd */

struct found {
	struct bp_trace_header header;
	struct bp_trace_state state;
};

static bool read_at(int descriptor, void *to, size_t bytes, long offset)
{
	return syscall(SYS_pread64, descriptor, to, bytes, offset) == (long)bytes;
}

/* `folder`: what `path` is relative to. False: there is no such file. One that is no trace has pid
 * 0. */
static bool read_trace(int folder, const char *path, struct found *ret_found)
{
	const int descriptor =
		bp_system_open_in(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	if (descriptor < 0)
		return false;
	struct bp_trace_header *header = &ret_found->header;
	if (!read_at(descriptor, header, sizeof *header, 0) ||
		!read_at(descriptor, &ret_found->state, sizeof ret_found->state, BP_STATE_OFFSET) ||
		__builtin_memcmp(header->magic, BP_TRACE_MAGIC, sizeof header->magic) != 0 ||
		header->version_major != BP_TRACE_MAJOR || header->flags_fatal != 0)
		header->pid = 0;
	bp_system_close(descriptor);
	return true;
}

/* The newest trace of a process. `first`: what FILE holds. */
static bool newest_of(const struct bp_config *config, uint32_t pid, const struct found *first,
	struct found *ret_found)
{
	char name[BP_PATH_BYTES];
	struct found found;
	bool is_known = first->header.pid == pid;
	if (is_known)
		*ret_found = *first;
	const int folder = bp_tree_folder_open(config->base, false);
	const size_t before = __builtin_strlen(config->base) + 3; /* `.d/` */
	for (uint32_t number = 0; folder >= 0 && number < NUMBERS_MAX; number++) {
		bp_config_trace_name(config->base, pid, number, name);
		if (!read_trace(folder, name + before, &found))
			break;
		if (found.header.pid != pid)
			continue;
		*ret_found = found;
		is_known = true;
	}
	if (folder >= 0)
		bp_system_close(folder);
	return is_known;
}

/* When a process began, in ns of the machine's CLOCK_MONOTONIC rounded down to a tick; UINT64_MAX:
 * not known. */
static uint64_t process_start_ns(uint32_t pid)
{
	char path[32] = "/proc/", text[STAT_BYTES];
	char digits[12], *digit = digits + sizeof digits - 1;
	uint64_t ticks = 0;
	*digit = '\0';
	for (uint32_t value = pid; value != 0; value /= 10)
		*--digit = (char)('0' + value % 10);
	const size_t length = __builtin_strlen(digit);
	__builtin_memcpy(path + 6, digit, length);
	__builtin_memcpy(path + 6 + length, "/stat", 6);
	size_t end = bp_system_read_file(path, text, sizeof text);
	while (end > 0 && text[end - 1] != ')')
		end--;
	if (end == 0)
		return UINT64_MAX;
	for (int field = 0; field < STARTED_FIELD; field++) {
		while (text[end] != ' ' && text[end] != '\0')
			end++;
		end += text[end] == ' ';
	}
	for (; text[end] >= '0' && text[end] <= '9'; end++)
		ticks = ticks * 10 + (uint64_t)(text[end] - '0');
	/* The kernel counts from the boot, suspended time included. In this order, so that the
	 * difference is never below zero. */
	const uint64_t now_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	const uint64_t suspended_ns = bp_system_time_ns(CLOCK_BOOTTIME) - now_ns;
	const uint64_t start_ns = ticks * TICK_NS;
	if (ticks == 0)
		return UINT64_MAX;
	return start_ns < suspended_ns ? 0 : start_ns - suspended_ns - bp_clock_offset_ns();
}

/* The newest trace of the process that has this number now. */
static bool newest_is_of(const struct bp_config *config, uint32_t pid, uint64_t pid_namespace,
	const struct found *first, struct found *ret_found)
{
	return pid != 0 && newest_of(config, pid, first, ret_found) &&
	       ret_found->header.pid_namespace == pid_namespace &&
	       bp_trace_machine_ns(&ret_found->header, ret_found->header.start_monotonic_ns) >=
		       process_start_ns(pid);
}

bool bp_predecessor_find(const struct bp_config *config, uint64_t pid_namespace,
	struct bp_predecessor *ret_predecessor)
{
	struct found first, found;
	if (bp_likely(!read_trace(AT_FDCWD, config->base, &first)))
		return false;
	const uint32_t own = bp_system_pid(), parent = (uint32_t)syscall(SYS_getppid);
	if (!newest_is_of(config, own, pid_namespace, &first, &found) &&
		!newest_is_of(config, parent, pid_namespace, &first, &found))
		return false;
	*ret_predecessor = (struct bp_predecessor){
		.flags = found.header.flags_skippable,
		.interval_bytes = found.header.interval_bytes,
		.control = found.state.control,
		.control_resume = found.state.control_resume,
		.budget_ppm = found.state.budget_ppm,
	};
	return true;
}
