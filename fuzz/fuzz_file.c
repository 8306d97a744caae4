/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing of importers whose formats have neither checksums nor large empty parts, so that the
 * input is the file: .nettrace, pprof that is not packed (packed, every change would test zlib
 * only), and Go's text form. Whatever bytes it holds, they must come to an end without a wrong
 * access, with bounded memory, and with a profile whose indices are all good. Which format it is
 * the seeds and the corpus say.
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
	int fd = memfd_create("file", MFD_CLOEXEC);
	bp_fuzz_require(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	bp_fuzz_import(fd, (struct bp_frame_choice){ 0 }, false);
	close(fd);
	return 0;
}
