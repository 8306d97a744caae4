/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing of the importer of .nettrace files: whatever bytes a file holds, they must come to an end
 * without a wrong access, with bounded memory, and with a profile whose indices are all good. The format
 * has neither checksums nor large empty parts: the input is the file.
 *
 * The harness is the same for libFuzzer (clang) and for the regression driver (replay.c).
 */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	int fd = memfd_create("nettrace", MFD_CLOEXEC);
	bp_fuzz_require(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	bp_fuzz_import(fd);
	close(fd);
	return 0;
}
