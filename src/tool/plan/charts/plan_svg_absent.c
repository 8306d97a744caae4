/* SPDX-License-Identifier: MIT */
/* In place of the charts of `bytepoll plan`, where bytepoll is built without them. */
#include "plan/plan.h"

bool bp_plan_can_draw(struct bp_error *error)
{
	return bp_error_set(error,
		"--svg: this bytepoll was built without charts: build it with meson's "
		"-Dcharts=enabled, or take --csv");
}

void bp_plan_write_svg(unsigned charts, uint64_t interval, double confidence, FILE *out)
{
	(void)charts;
	(void)interval;
	(void)confidence;
	(void)out;
}
