/* SPDX-License-Identifier: MIT */
/*
 * A trace with the other files of its tree (docs/trace-format.md, section 4):
 * FILE.d/<pid>.<n>.bpt, each a process image, FILE.d/packed, which holds such files of processes
 * that ended (section 7), and FILE.d/index, which also knows the images whose files were removed
 * because they held no sample. Of those only totals are left. FILE.jit has names of code.
 *
 * Nothing in FILE.d can make FILE unreadable: a child that was killed as it started leaves a torn
 * file, and that is counted, with one example for the reader of the report.
 *
 * Files are read in the order of their names, so that a profile does not depend on the order in
 * which a directory happens to list them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/vec.h"
#include "import/trace/trace.h"
#include "jit/jit_file.h"
#include "trace/pack.h"

#define INDEX_FIRST_LINE "bytepoll index 1"
/* Two paths of 4096 bytes, each byte escaped, and room for the numbers. */
#define INDEX_LINE_BYTES 20000

static bool count_unread(struct bp_profile *profile, const char *why, struct bp_error *error)
{
	if (profile->unread_files++ > 0)
		return true;
	return bp_profile_string(profile, why, strlen(why), &profile->unread_example, error);
}

static bool import_member(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	struct bp_error failure = { .text = "" };
	struct bp_process_id process;
	switch (bp_import_trace_process(path, profile, &process, &failure)) {
	case BP_IMPORTED:
	case BP_IMPORTED_BEFORE:
		return true;
	case BP_IMPORT_BAD_FILE:
		/* One that was packed meanwhile is read from there. */
		return (access(path, F_OK) != 0 && errno == ENOENT) ||
		       count_unread(profile, failure.text, error);
	case BP_IMPORT_ABORTED:
		break;
	}
	return bp_error_set(error, "%s", failure.text);
}

static int is_trace(const struct dirent *entry)
{
	size_t bytes = strlen(entry->d_name);
	return bytes > 4 && strcmp(entry->d_name + bytes - 4, ".bpt") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static bool import_members(const char *folder, struct bp_profile *profile, struct bp_error *error)
{
	struct dirent **entries = NULL;
	bool going = true;
	int count = scandir(folder, &entries, is_trace, by_name);
	if (count < 0 && (errno == ENOENT || errno == ENOTDIR))
		return true;
	if (count < 0) {
		struct bp_error failure = { .text = "" };
		bp_error_set(&failure, "%s: cannot be read: %s", folder, strerror(errno));
		return count_unread(profile, failure.text, error);
	}
	for (int i = 0; i < count; i++) {
		char *path = NULL;
		if (going && asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0) {
			path = NULL;
			going = bp_error_set(error, "out of memory");
		}
		going = going && import_member(path, profile, error);
		free(path);
		free(entries[i]);
	}
	free(entries);
	return going;
}

static bool import_packed_entry(struct bp_pack *pack, const struct bp_pack_entry *entry,
	const char *folder, struct bp_profile *profile, struct bp_error *error)
{
	struct bp_error failure = { .text = "" };
	struct bp_process_id process;
	enum bp_imported imported = BP_IMPORT_ABORTED;
	char *path;
	int fd, part_fd;
	if (asprintf(&path, "%s/%s", folder, entry->name) < 0)
		return bp_error_set(error, "out of memory");
	if (bp_pack_expand(pack, entry, &fd, &part_fd, &failure))
		imported = bp_import_trace_files(fd, part_fd, path, profile, &process, &failure);
	free(path);
	switch (imported) {
	case BP_IMPORTED:
	case BP_IMPORTED_BEFORE:
		return true;
	case BP_IMPORT_BAD_FILE:
		return count_unread(profile, failure.text, error);
	case BP_IMPORT_ABORTED:
		break;
	}
	return bp_error_set(error, "%s", failure.text);
}

static bool import_packed(const char *folder, struct bp_profile *profile, struct bp_error *error)
{
	char path[PATH_MAX];
	struct bp_pack pack;
	struct bp_pack_entry entry;
	struct bp_error failure = { .text = "" };
	const int length = snprintf(path, sizeof path, "%s/" BP_PACK_NAME, folder);
	if (length < 0 || (size_t)length >= sizeof path)
		return true;
	const struct bp_place place = { AT_FDCWD, path };
	if (!bp_pack_open(&pack, &place, &failure))
		return count_unread(profile, failure.text, error);
	bool good = true;
	while (good && bp_pack_next(&pack, &entry, &failure))
		good = import_packed_entry(&pack, &entry, folder, profile, error);
	if (good && failure.text[0] != '\0')
		good = bp_error_set(error, "%s: %s", path, failure.text);
	if (good && pack.damaged_blocks > 0) {
		bp_error_set(&failure, "%s: is damaged: processes that it held are missing", path);
		good = count_unread(profile, failure.text, error);
	}
	bp_pack_close(&pack);
	return good;
}

bool bp_import_packed(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	char folder[PATH_MAX];
	const int length = snprintf(folder, sizeof folder, "%s.d", path);
	return length < 0 || (size_t)length >= sizeof folder ||
	       import_packed(folder, profile, error);
}

/* One line of the index: what is not given stays zero. */
struct index_entry {
	struct bp_process process;
	uint64_t pid, exec_number, end_reason, unprofiled_reason;
	uint64_t trials_low, trials_high, objects_low, objects_high;
	struct bp_known_total off_bytes, off_objects; /* of these: while sampling was off */
	char *program;
	bool has_trace_id;
};

static bool parse_number(const char *text, uint64_t *number)
{
	char *end;
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (*end != '\0' || errno != 0)
		return false;
	*number = value;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_id(const char *text, uint8_t *id)
{
	uint8_t bytes[16];
	if (strlen(text) != 2 * sizeof bytes)
		return false;
	for (size_t i = 0; i < sizeof bytes; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(id, bytes, sizeof bytes);
	return true;
}

/* Undoes \t, \n and \\ in place. */
static void unescape(char *text)
{
	char *to = text;
	for (; *text != '\0'; text++) {
		if (text[0] == '\\' && (text[1] == 't' || text[1] == 'n' || text[1] == '\\')) {
			text++;
			*to++ = *text == 't' ? '\t' : *text == 'n' ? '\n' : '\\';
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

static void parse_field(struct index_entry *entry, char *key, char *value)
{
	struct bp_process *process = &entry->process;
	const struct {
		const char *key;
		uint64_t *number;
	} numbers[] = {
		{ "parent_sequence", &process->parent_sequence },
		{ "pid", &entry->pid },
		{ "exec_number", &entry->exec_number },
		{ "start_monotonic_ns", &process->start_time_ns },
		{ "end_time_ns", &process->end_time_ns },
		{ "end_reason", &entry->end_reason },
		{ "interval_bytes", &process->interval_max },
		{ "unprofiled_reason", &entry->unprofiled_reason },
		{ "trials_low", &entry->trials_low },
		{ "trials_high", &entry->trials_high },
		{ "objects_low", &entry->objects_low },
		{ "objects_high", &entry->objects_high },
		{ "off_bytes_low", &entry->off_bytes.low },
		{ "off_bytes_high", &entry->off_bytes.high },
		{ "off_objects_low", &entry->off_objects.low },
		{ "off_objects_high", &entry->off_objects.high },
	};
	if (strcmp(key, "trace_id") == 0)
		entry->has_trace_id = parse_id(value, process->trace_id);
	else if (strcmp(key, "parent_trace_id") == 0)
		parse_id(value, process->parent_trace_id);
	else if (strcmp(key, "program") == 0) {
		unescape(value);
		entry->program = value;
	}
	for (size_t i = 0; i < BP_COUNT(numbers); i++)
		if (strcmp(key, numbers[i].key) == 0)
			parse_number(value, numbers[i].number);
}

static struct bp_known_total known_total(uint64_t low, uint64_t high)
{
	return (struct bp_known_total){ low, high > low ? high : low };
}

static uint64_t less_charge(uint64_t trials, uint64_t objects, uint32_t charge)
{
	uint64_t charged;
	if (__builtin_mul_overflow(objects, (uint64_t)charge, &charged) || charged > trials)
		return 0;
	return trials - charged;
}

/* Divides a total, which is in `on`, into that and `off`. Of an image whose whole life was not
 * sampled the parts are known even where the total is not. */
static void divide(
	struct bp_known_total claimed, struct bp_known_total *on, struct bp_known_total *off)
{
	const struct bp_known_total total = *on;
	*off = known_total(claimed.low < total.high ? claimed.low : total.high,
		claimed.high < total.high ? claimed.high : total.high);
	on->high = total.high - off->low;
	on->low = total.low > off->high ? total.low - off->high : 0;
	if (off->low == total.low && off->high == total.high)
		*on = (struct bp_known_total){ 0, 0 };
}

/* One pause: when in its life sampling was off, the index does not tell. */
static bool add_pause(
	struct bp_profile *profile, struct bp_process_id added, struct bp_error *error)
{
	const struct bp_process *process = &profile->processes.data[added.i];
	const struct bp_pause pause = { added, process->start_time_ns, process->end_time_ns };
	return pause.to_ns <= pause.from_ns || bp_profile_add_pause(profile, &pause, error);
}

/* `root`: the process of FILE, which knows what the index does not repeat. */
static bool add_entry(struct index_entry *entry, struct bp_process_id root,
	struct bp_profile *profile, struct bp_error *error)
{
	struct bp_process *process = &entry->process;
	struct bp_process_id added;
	const char *program = entry->program == NULL ? "" : entry->program;
	const struct bp_process *first = &profile->processes.data[root.i];
	const uint64_t trials_apart =
		entry->trials_high > entry->trials_low ? entry->trials_high - entry->trials_low : 0;
	const uint64_t bytes = less_charge(entry->trials_low, entry->objects_low, first->charge);
	/* Bytes lie as far apart as trials: both are what was published and what was armed. */
	process->bytes_allocated = known_total(bytes, bytes + trials_apart);
	process->objects_allocated = known_total(entry->objects_low, entry->objects_high);
	divide(entry->off_bytes, &process->bytes_allocated, &process->bytes_off);
	divide(entry->off_objects, &process->objects_allocated, &process->objects_off);
	process->has_pauses = process->objects_off.high > 0;
	process->pid = (uint32_t)entry->pid;
	process->exec_number = (uint32_t)entry->exec_number;
	process->end_reason = (uint32_t)entry->end_reason;
	process->unprofiled_reason = (uint32_t)entry->unprofiled_reason;
	process->ended = process->end_reason != BP_END_NONE;
	process->profiled = process->unprofiled_reason == BP_PROFILED;
	process->law = first->law;
	process->charge = first->charge;
	if (process->interval_max == 0)
		process->interval_max = first->interval_first;
	process->interval_first = process->interval_min = process->interval_max;
	process->size_min = UINT64_MAX;
	const uint32_t count = profile->processes.count;
	if (!bp_profile_string(profile, program, strlen(program), &process->program, error) ||
		!bp_profile_add_process(profile, process, &added, error))
		return false;
	if (profile->processes.count == count)
		return true;
	return !process->has_pauses || add_pause(profile, added, error);
}

static bool import_line(
	char *line, struct bp_process_id root, struct bp_profile *profile, struct bp_error *error)
{
	struct index_entry entry = { .program = NULL };
	char *rest = line, *field;
	while ((field = strsep(&rest, "\t")) != NULL) {
		char *equals = strchr(field, '=');
		if (equals == NULL)
			continue;
		*equals = '\0';
		parse_field(&entry, field, equals + 1);
	}
	/* A process that was read from its file is found by its trace id, and stays as it is. */
	return !entry.has_trace_id || add_entry(&entry, root, profile, error);
}

static bool import_lines(FILE *file, const char *path, struct bp_process_id root,
	struct bp_profile *profile, struct bp_error *error)
{
	char line[INDEX_LINE_BYTES];
	struct bp_error failure = { .text = "" };
	bool first = true, whole = true;
	while (fgets(line, sizeof line, file) != NULL) {
		char *newline = strchr(line, '\n');
		if (first && (newline == NULL || strncmp(line, INDEX_FIRST_LINE "\n",
							 sizeof INDEX_FIRST_LINE) != 0)) {
			bp_error_set(&failure, "%s: is not an index of this version", path);
			return count_unread(profile, failure.text, error);
		}
		if (newline != NULL)
			*newline = '\0';
		/* A line that was cut at either end says nothing reliable. */
		if (!first && whole && newline != NULL && !import_line(line, root, profile, error))
			return false;
		whole = newline != NULL;
		first = false;
	}
	if (ferror(file)) {
		bp_error_set(&failure, "%s: cannot be read: %s", path, strerror(errno));
		return count_unread(profile, failure.text, error);
	}
	return true;
}

/* Non-blocking, and a regular file only: a FIFO in its place must not hold us. */
static FILE *open_index(const char *path)
{
	struct stat status;
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (descriptor < 0)
		return NULL;
	FILE *file = NULL;
	if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
		file = fdopen(descriptor, "r");
	else
		errno = EINVAL;
	if (file == NULL) {
		const int failure = errno;
		close(descriptor);
		errno = failure;
	}
	return file;
}

static bool import_index(const char *folder, struct bp_process_id root, struct bp_profile *profile,
	struct bp_error *error)
{
	struct bp_error failure = { .text = "" };
	bool going;
	char *path;
	FILE *file;
	if (asprintf(&path, "%s/index", folder) < 0)
		return bp_error_set(error, "out of memory");
	file = open_index(path);
	if (file != NULL) {
		going = import_lines(file, path, root, profile, error);
		fclose(file);
	} else {
		bp_error_set(&failure, "%s: cannot be read: %s", path, strerror(errno));
		going = errno == ENOENT || errno == ENOTDIR ||
			count_unread(profile, failure.text, error);
	}
	free(path);
	return going;
}

static bool import_tree(const char *path, struct bp_process_id root, struct bp_profile *profile,
	struct bp_error *error)
{
	char *folder;
	bool going;
	if (asprintf(&folder, "%s.d", path) < 0)
		return bp_error_set(error, "out of memory");
	/* A child writes its file there at once, and the index stays when the file goes. */
	if (access(folder, F_OK) != 0)
		profile->processes.data[root.i].missing_children =
			profile->processes.data[root.i].forks +
			profile->processes.data[root.i].spawned;
	going = import_members(folder, profile, error) && import_packed(folder, profile, error) &&
		import_index(folder, root, profile, error);
	free(folder);
	return going;
}

static bool import_trace(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	struct bp_process_id root;
	struct bp_jit_file jit;
	struct bp_error failure = { .text = "" };
	if (!bp_jit_file_read(path, &jit, &failure) && !count_unread(profile, failure.text, error))
		return false;
	const struct bp_jit_file *given = profile->jit;
	if (jit.count > 0)
		profile->jit = &jit;
	const bool good = bp_import_trace_process(path, profile, &root, error) == BP_IMPORTED &&
			  import_tree(path, root, profile, error);
	profile->jit = given;
	bp_jit_file_free(&jit);
	return good;
}

const struct bp_importer bp_import_trace = {
	.name = "bytepoll trace",
	.sniff = bp_trace_sniff,
	.import = import_trace,
};
