/* SPDX-License-Identifier: MIT */
/* What is left to the recorder in a process that gives up system calls. */
#ifndef BP_BASE_SEAL_H
#define BP_BASE_SEAL_H

/* What a process that gives up system calls still allows (recorder/steering/seal.h), from the
 * mildest to the strictest. */
enum bp_seal {
	BP_SEAL_NONE,
	BP_SEAL_CHILDREN, /* children open no trace of their own, and new images are not recorded */
	BP_SEAL_FILES,	  /* also, the trace is not opened again: it ends where its mapping ends */
	BP_SEAL_ALL /* no thread makes any call: nothing is sampled any more; objects and bytes are
			   * still counted, and so are the samples that would have been made */
};

#endif
