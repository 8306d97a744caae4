/* SPDX-License-Identifier: MIT */
/*
 * Opening the right files and no others. A file is the one that was mapped if its build-id is the
 * recorded one; where none was recorded, if its size and modification time are. Everything else
 * (another build-id, none of it known) is refused: a wrong name is worse than none. The same holds
 * for debug files, which must carry the module's build-id or, where it has none, the checksum its
 * debug link states. A module whose own file is gone can still be named by a debug file with its
 * build-id.
 *
 * libelf and libdw are used directly and not through libdwfl, which would ask debuginfod servers as
 * soon as DEBUGINFOD_URLS is set, as Debian may do for every user. Servers that the user named are
 * asked last (debuginfod.h).
 *
 * Debug information that several files share (dwz) is in a further file, which the debug file
 * names, with its build-id.
 *
 * Split units may be together in a package, PROGRAM.dwp: beside the program or its debug file, or
 * below the debug directory. A package has no build-id; each unit in it is known by an id of its
 * own.
 */
#include "symbols/files/module_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbols/files/debug_link.h"
#include "symbols/files/debuginfod.h"
#include "symbols/files/packed_size.h"

#define BUILD_ID_TEXT_BYTES 129u
/* ELFCOMPRESS_ZSTD; elf.h of glibc 2.36 has it, older ones do not. */
#define COMPRESSED_BY_ZSTD 2u
#define PACKAGE_SUFFIX ".dwp"

static void close_elf(struct bp_elf_file *file)
{
	if (file->elf == NULL)
		return;
	elf_end(file->elf);
	close(file->fd);
	*file = (struct bp_elf_file){ 0 };
}

/* Opens a regular file as ELF, mapped. False: not there, not readable or no ELF file. The caller
 * sees which by `*ret_readable`. */
static bool open_elf(struct bp_elf_file *file, const char *path, bool *ret_readable)
{
	struct stat status;
	/* O_NONBLOCK: a named pipe in its place must not hold us up. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	*ret_readable = false;
	if (fd < 0)
		return false;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		close(fd);
		return false;
	}
	*ret_readable = true;
	file->fd = fd;
	file->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (file->elf != NULL && elf_kind(file->elf) == ELF_K_ELF)
		return true;
	if (file->elf != NULL)
		elf_end(file->elf);
	close(fd);
	*file = (struct bp_elf_file){ 0 };
	return false;
}

/* "" where it is an unusual one. */
static void build_id_text(const void *data, ssize_t bytes, char text[BUILD_ID_TEXT_BYTES])
{
	text[0] = '\0';
	if (bytes <= 0 || (size_t)bytes > (BUILD_ID_TEXT_BYTES - 1) / 2)
		return;
	for (ssize_t i = 0; i < bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)data)[i]);
}

/* The build-id as text, "" where the file has none or an unusual one. */
static void read_build_id(Elf *elf, char text[BUILD_ID_TEXT_BYTES])
{
	const void *data = NULL;
	ssize_t bytes = dwelf_elf_gnu_build_id(elf, &data);
	build_id_text(data, bytes, text);
}

static bool same_size_and_time(
	const struct bp_elf_file *file, const struct bp_module_request *request)
{
	struct stat status;
	if (fstat(file->fd, &status) != 0)
		return false;
	return (uint64_t)status.st_size == request->file_bytes &&
	       (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec ==
		       request->file_mtime_ns;
}

static enum bp_module_state identify(
	const struct bp_elf_file *file, const struct bp_module_request *request)
{
	char build_id[BUILD_ID_TEXT_BYTES];
	if (request->build_id[0] != '\0') {
		read_build_id(file->elf, build_id);
		return strcmp(build_id, request->build_id) == 0 ? BP_MODULE_READ
								: BP_MODULE_REPLACED;
	}
	if (request->file_bytes == 0 || request->file_mtime_ns == 0)
		return BP_MODULE_UNVERIFIED;
	return same_size_and_time(file, request) ? BP_MODULE_READ : BP_MODULE_REPLACED;
}

static enum bp_module_state open_own(
	struct bp_module_file *file, const struct bp_module_request *request)
{
	bool readable = false;
	enum bp_module_state state = BP_MODULE_MISSING;
	if (!open_elf(&file->own, request->path, &readable))
		return readable ? BP_MODULE_REPLACED : BP_MODULE_MISSING;
	state = identify(&file->own, request);
	if (state != BP_MODULE_READ)
		close_elf(&file->own);
	return state;
}

/* Does the file hold debug information, and (`*ret_zstd`) any of it packed by zstd? */
static bool has_debug_sections(Elf *elf, bool *ret_zstd)
{
	Elf_Scn *section = NULL;
	size_t names = 0;
	bool found = false;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		GElf_Chdr packed;
		const char *name = NULL;
		if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name == NULL || strstr(name, "debug_") == NULL)
			continue;
		if (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0)
			found = true;
		if ((header.sh_flags & SHF_COMPRESSED) != 0 &&
			gelf_getchdr(section, &packed) != NULL &&
			packed.ch_type == COMPRESSED_BY_ZSTD)
			*ret_zstd = true;
	}
	return found;
}

/* Opens the DWARF in an ELF file that stays open; NULL where there is none to be read. */
static Dwarf *begin_dwarf(Elf *elf)
{
	Dwarf_CU *unit = NULL;
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (dwarf == NULL)
		return NULL;
	if (dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL) == 0)
		return dwarf;
	dwarf_end(dwarf);
	return NULL;
}

/* May what is packed in the file be unpacked? If not, that is part of the answer. */
static bool is_bounded(struct bp_module_file *file, Elf *elf)
{
	const bool bounded = bp_packed_size_is_bounded(elf);
	file->answer.too_large |= !bounded;
	return bounded;
}

/* Opens the DWARF of a file if it has any that can be read. What zstd packed is unpacked first:
 * some versions of libdw read the rest of such a file and leave out what they cannot. */
static void open_dwarf(struct bp_module_file *file, const struct bp_elf_file *source)
{
	bool zstd = false;
	if (source->elf == NULL || !has_debug_sections(source->elf, &zstd) ||
		!is_bounded(file, source->elf))
		return;
	if (zstd && bp_unpacked_elf_init(&file->unpacked, source->elf)) {
		file->dwarf = begin_dwarf(file->unpacked.elf);
		if (file->dwarf == NULL)
			bp_unpacked_elf_finish(&file->unpacked);
	}
	if (file->dwarf == NULL)
		file->dwarf = begin_dwarf(source->elf);
	file->answer.compressed = file->dwarf == NULL && (zstd || file->answer.compressed);
}

/* Is the file just opened the debug file of that build-id, or (without one) of that checksum? */
static bool is_debug_file(
	const struct bp_elf_file *debug, const char *build_id, const uint32_t *checksum)
{
	char found[BUILD_ID_TEXT_BYTES];
	uint32_t sum = 0;
	if (build_id[0] != '\0') {
		read_build_id(debug->elf, found);
		return strcmp(found, build_id) == 0;
	}
	return checksum != NULL && bp_file_checksum(debug->fd, &sum) && sum == *checksum;
}

static bool try_debug_file(struct bp_module_file *file, const char *path, const char *build_id,
	const uint32_t *checksum)
{
	bool readable = false;
	if (!open_elf(&file->debug, path, &readable))
		return false;
	if (is_debug_file(&file->debug, build_id, checksum))
		return true;
	close_elf(&file->debug);
	return false;
}

static bool find_by_build_id(struct bp_module_file *file, const char *root, const char *build_id)
{
	char path[PATH_MAX];
	return bp_debug_path_by_build_id(root, build_id, path, sizeof path) &&
	       try_debug_file(file, path, build_id, NULL);
}

static bool find_by_link(struct bp_module_file *file, const char *root, const char *module_path,
	const char *build_id)
{
	char path[PATH_MAX];
	GElf_Word checksum = 0;
	const char *name = NULL;
	if (file->own.elf == NULL)
		return false;
	name = dwelf_elf_gnu_debuglink(file->own.elf, &checksum);
	for (uint32_t choice = 0; name != NULL && choice < 3; choice++)
		if (bp_debug_path_by_link(root, module_path, name, choice, path, sizeof path) &&
			try_debug_file(file, path, build_id, &checksum))
			return true;
	return false;
}

static void find_by_server(
	struct bp_module_file *file, const struct bp_module_request *request, const char *build_id)
{
	char path[PATH_MAX];
	if (bp_debuginfod_fetch(request, build_id, path, sizeof path))
		try_debug_file(file, path, build_id, NULL);
}

static void find_debug_file(struct bp_module_file *file, const struct bp_module_request *request)
{
	const char *roots[] = { request->debug_directory, BP_DEBUG_DIRECTORY };
	char build_id[BUILD_ID_TEXT_BYTES] = "";
	if (file->own.elf != NULL)
		read_build_id(file->own.elf, build_id);
	else
		snprintf(build_id, sizeof build_id, "%s", request->build_id);
	for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
		if (roots[i] != NULL && find_by_build_id(file, roots[i], build_id))
			return;
	for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
		if (roots[i] != NULL && find_by_link(file, roots[i], request->path, build_id))
			return;
	find_by_server(file, request, build_id);
}

/* The directory a file was opened in, with the '/'. */
static bool directory_of(const struct bp_elf_file *file, char *ret_path, size_t path_bytes)
{
	char link[64];
	ssize_t bytes = 0;
	char *slash = NULL;
	if (file->elf == NULL)
		return false;
	snprintf(link, sizeof link, "/proc/self/fd/%d", file->fd);
	bytes = readlink(link, ret_path, path_bytes - 1);
	if (bytes <= 0)
		return false;
	ret_path[bytes] = '\0';
	slash = strrchr(ret_path, '/');
	if (slash == NULL)
		return false;
	slash[1] = '\0';
	return true;
}

/* Opens the shared file at the path if it is the right one. */
static bool try_shared(struct bp_module_file *file, const char *path, const char *build_id)
{
	bool readable = false;
	if (!open_elf(&file->shared, path, &readable))
		return false;
	if (is_debug_file(&file->shared, build_id, NULL) && is_bounded(file, file->shared.elf)) {
		file->shared_dwarf = dwarf_begin_elf(file->shared.elf, DWARF_C_READ, NULL);
		if (file->shared_dwarf != NULL)
			return true;
	}
	close_elf(&file->shared);
	return false;
}

static bool find_shared(struct bp_module_file *file, const struct bp_module_request *request,
	const char *name, const char *build_id)
{
	const char *roots[] = { request->debug_directory, BP_DEBUG_DIRECTORY };
	const struct bp_elf_file *source = file->debug.elf != NULL ? &file->debug : &file->own;
	char path[PATH_MAX], directory[PATH_MAX / 2];
	for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
		if (roots[i] != NULL &&
			bp_debug_path_by_build_id(roots[i], build_id, path, sizeof path) &&
			try_shared(file, path, build_id))
			return true;
	if (name[0] == '/' && try_shared(file, name, build_id))
		return true;
	if (name[0] != '/' && directory_of(source, directory, sizeof directory)) {
		int written = snprintf(path, sizeof path, "%s%s", directory, name);
		if (written > 0 && (size_t)written < sizeof path &&
			try_shared(file, path, build_id))
			return true;
	}
	return bp_debuginfod_fetch(request, build_id, path, sizeof path) &&
	       try_shared(file, path, build_id);
}

/* Opens what the debug information refers to in another file, if it does. */
static void open_shared(struct bp_module_file *file, const struct bp_module_request *request)
{
	const char *name = NULL;
	const void *id = NULL;
	char build_id[BUILD_ID_TEXT_BYTES];
	ssize_t bytes = 0;
	if (file->dwarf == NULL)
		return;
	bytes = dwelf_dwarf_gnu_debugaltlink(file->dwarf, &name, &id);
	if (bytes <= 0)
		return;
	build_id_text(id, bytes, build_id);
	if (build_id[0] != '\0' && find_shared(file, request, name, build_id)) {
		dwarf_setalt(file->dwarf, file->shared_dwarf);
		return;
	}
	/* Half of the names are missing, and libdw would take any file of that name for the other
	 * half: the symbol table knows better. */
	file->lacks_shared = true;
	dwarf_end(file->dwarf);
	file->dwarf = NULL;
	bp_unpacked_elf_finish(&file->unpacked);
}

static bool try_package(struct bp_module_file *file, const char *path)
{
	bool readable = false;
	if (!open_elf(&file->package_file, path, &readable))
		return false;
	if (is_bounded(file, file->package_file.elf) &&
		bp_dwarf_package_init(&file->package, file->package_file.elf))
		return true;
	close_elf(&file->package_file);
	return false;
}

/* Beside the file whose DWARF is read, and beside the module. */
static bool find_package_beside(
	struct bp_module_file *file, const struct bp_module_request *request)
{
	const struct bp_elf_file *source = file->debug.elf != NULL ? &file->debug : &file->own;
	char link[64], path[PATH_MAX];
	snprintf(link, sizeof link, "/proc/self/fd/%d", source->fd);
	const ssize_t bytes = readlink(link, path, sizeof path - sizeof PACKAGE_SUFFIX);
	if (bytes > 0) {
		strcpy(path + bytes, PACKAGE_SUFFIX);
		if (try_package(file, path))
			return true;
	}
	const int written = snprintf(path, sizeof path, "%s" PACKAGE_SUFFIX, request->path);
	return written > 0 && (size_t)written < sizeof path && try_package(file, path);
}

static void open_package(struct bp_module_file *file, const struct bp_module_request *request)
{
	const char *roots[] = { request->debug_directory, BP_DEBUG_DIRECTORY };
	const char *slash = strrchr(request->path, '/');
	char name[NAME_MAX + sizeof PACKAGE_SUFFIX], path[PATH_MAX];
	if (file->dwarf == NULL || find_package_beside(file, request))
		return;
	const int written = snprintf(
		name, sizeof name, "%s" PACKAGE_SUFFIX, slash != NULL ? slash + 1 : request->path);
	for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
		if (roots[i] != NULL && written > 0 && (size_t)written < sizeof name &&
			bp_debug_path_by_link(
				roots[i], request->path, name, 2, path, sizeof path) &&
			try_package(file, path))
			return;
}

static uint64_t mix_file(uint64_t hash, const struct bp_elf_file *file)
{
	struct stat status;
	if (file->elf == NULL || fstat(file->fd, &status) != 0)
		return bp_hash_u64(hash ^ 1);
	hash = bp_hash_u64(hash ^ (uint64_t)status.st_size);
	hash = bp_hash_u64(hash ^ (uint64_t)status.st_mtim.tv_sec);
	return bp_hash_u64(hash ^ (uint64_t)status.st_mtim.tv_nsec);
}

uint64_t bp_module_file_identity(
	const struct bp_module_file *file, const struct bp_module_request *request)
{
	uint64_t hash = bp_hash_u64(request->cache_variant);
	for (const char *c = request->build_id; *c != '\0'; c++)
		hash = bp_hash_u64(hash ^ (unsigned char)*c);
	hash = mix_file(hash, &file->own);
	hash = mix_file(hash, &file->debug);
	hash = mix_file(hash, &file->shared);
	hash = mix_file(hash, &file->package_file);
	return bp_hash_u64(hash ^ (uint64_t)(file->dwarf != NULL) << 1 ^
			   (uint64_t)file->answer.compressed << 2 ^
			   (uint64_t)file->lacks_shared << 3 ^
			   (uint64_t)file->answer.too_large << 4);
}

void bp_module_file_open(struct bp_module_file *file, const struct bp_module_request *request)
{
	*file = (struct bp_module_file){ 0 };
	elf_version(EV_CURRENT);
	file->answer.state = open_own(file, request);
	open_dwarf(file, &file->own);
	if (file->dwarf == NULL)
		find_debug_file(file, request);
	if (file->debug.elf != NULL) {
		file->answer.state = BP_MODULE_READ;
		open_dwarf(file, &file->debug);
	}
	open_shared(file, request);
	open_package(file, request);
}

void bp_module_file_finish(struct bp_module_file *file)
{
	if (file->dwarf != NULL)
		dwarf_end(file->dwarf);
	if (file->shared_dwarf != NULL)
		dwarf_end(file->shared_dwarf);
	file->dwarf = NULL;
	file->shared_dwarf = NULL;
	bp_unpacked_elf_finish(&file->unpacked);
	close_elf(&file->package_file);
	close_elf(&file->shared);
	close_elf(&file->debug);
	close_elf(&file->own);
}
