/* SPDX-License-Identifier: MIT */
/* LTTng's half of the events in tracepoints.h, which its macros write: descriptions and probes. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE

#include "tracepoints.h"
