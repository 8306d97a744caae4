/* SPDX-License-Identifier: MIT */
/*
 * Line charts as SVG: one document, charts below each other. Self-contained (no script, no link, no
 * font of its own), light or dark as the reader's system wishes, with a title and a description for
 * those who cannot see it. All text is escaped here. Called by reports.
 */
#ifndef BP_PLAN_CHARTS_CHART_SVG_H
#define BP_PLAN_CHARTS_CHART_SVG_H

#include <stdbool.h>
#include <stdio.h>

#define BP_CHART_SERIES_MAX 14 /* as many colours as there are; BP_CHART_GREY is beside them */
#define BP_CHART_GREY BP_CHART_SERIES_MAX

struct bp_chart_tick {
	double at;
	char label[16];
};

struct bp_chart_axis {
	const char *label;
	double low, high; /* low < high, above 0 if logarithmic */
	bool logarithmic;
	const struct bp_chart_tick *ticks;
	unsigned tick_count;
};

struct bp_chart_series {
	const char *name;    /* in the legend; NULL: not there */
	unsigned colour;     /* < BP_CHART_SERIES_MAX, violet to red; or BP_CHART_GREY */
	const double *x, *y; /* points outside the axes are cut off */
	unsigned count;
};

struct bp_chart {
	const char *title, *remark; /* a line each */
	const char *legend;	    /* heading of the legend */
	struct bp_chart_axis x, y;
	const struct bp_chart_series *series;
	unsigned series_count;
};

/* A document of `count` charts; `description` says in words what is to be seen. */
void bp_chart_svg_write(const char *title, const char *description, const struct bp_chart *charts,
	unsigned count, FILE *out);

/* Text as it stands between tags or in an attribute; invalid UTF-8 becomes U+FFFD, control
 * characters, which XML cannot hold, too. */
void bp_write_xml_text(FILE *out, const char *text);

#endif
