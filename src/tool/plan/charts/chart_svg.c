/* SPDX-License-Identifier: MIT */
/*
 * Geometry: every chart has a plot of fixed size, its legend to the right of it, tick labels below
 * and to the left. Lines are polylines in plot coordinates inside a clipped group.
 *
 * Colour: a ramp for series that are ordered, dark to light on white, light to dark on black, each
 * with enough contrast; presentation is by class, so that one style sheet with a media query serves
 * both. The order of the legend is the order of the series.
 */
#include "plan/charts/chart_svg.h"

#include <math.h>
#include <stdint.h>

#include "base/attributes.h"
#include "text/escape.h"

#define WIDTH 880
#define HEIGHT 460 /* of one chart */
#define LEFT 92
#define TOP 64
#define PLOT_WIDTH 640
#define PLOT_HEIGHT 330
#define LEGEND_LEFT (LEFT + PLOT_WIDTH + 22)
#define LEGEND_LINE 20

static const char *const ramp_light[BP_CHART_SERIES_MAX] = { "#2b1c6e", "#2f3c94", "#2659ad",
	"#1a74b2", "#118aa8", "#0f9a90", "#25a572", "#55a84f", "#84a32f", "#ad981f", "#c9861c",
	"#d66d22", "#d14b31", "#b92b45" };
static const char *const ramp_dark[BP_CHART_SERIES_MAX] = { "#a99cf5", "#8aa5f7", "#6db2f5",
	"#55bfec", "#46cadb", "#48d3c2", "#5fd9a3", "#83dc83", "#a8da69", "#c9d35b", "#e3c658",
	"#f2b35d", "#f79c69", "#f5877b" };

void bp_write_xml_text(FILE *out, const char *text)
{
	while (*text != '\0') {
		unsigned bytes;
		uint32_t character = bp_utf8_next(text, &bytes);
		if (character == UINT32_MAX || character < 0x20 || (character & 0xfffe) == 0xfffe)
			fputs("\xef\xbf\xbd", out);
		else if (character == '&')
			fputs("&amp;", out);
		else if (character == '<')
			fputs("&lt;", out);
		else if (character == '>')
			fputs("&gt;", out);
		else if (character == '"')
			fputs("&quot;", out);
		else
			fwrite(text, 1, bytes, out);
		text += bytes;
	}
}

static void write_style(FILE *out)
{
	fputs("<style>\n"
	      "text { font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', "
	      "sans-serif; fill: #1f2328; }\n"
	      ".title { font-size: 16px; font-weight: 600; }\n"
	      ".remark, .tick { fill: #59636e; font-size: 12px; }\n"
	      ".paper { fill: #ffffff; }\n"
	      ".grid { stroke: #d9dee3; stroke-width: 1; }\n"
	      ".frame { fill: none; stroke: #8c959f; stroke-width: 1; }\n"
	      ".line { fill: none; stroke-width: 2; stroke-linejoin: round; }\n",
		out);
	for (unsigned i = 0; i < BP_CHART_SERIES_MAX; i++)
		fprintf(out, ".c%u { stroke: %s; }\n", i, ramp_light[i]);
	fprintf(out, ".c%d { stroke: #8c959f; stroke-width: 1.5; stroke-dasharray: 5 4; }\n",
		BP_CHART_GREY);
	fputs("@media (prefers-color-scheme: dark) {\n"
	      "text { fill: #e6edf3; }\n"
	      ".remark, .tick { fill: #9aa4af; }\n"
	      ".paper { fill: #0d1117; }\n"
	      ".grid { stroke: #2a313a; }\n"
	      ".frame { stroke: #6e7681; }\n",
		out);
	for (unsigned i = 0; i < BP_CHART_SERIES_MAX; i++)
		fprintf(out, ".c%u { stroke: %s; }\n", i, ramp_dark[i]);
	fputs("}\n</style>\n", out);
}

/* Where on an axis, 0 to 1; beyond these outside. */
static double place(const struct bp_chart_axis *axis, double value)
{
	if (!axis->logarithmic)
		return (value - axis->low) / (axis->high - axis->low);
	if (!(value > 0))
		return -INFINITY;
	return log(value / axis->low) / log(axis->high / axis->low);
}

static double x_of(const struct bp_chart *chart, double value)
{
	return PLOT_WIDTH * place(&chart->x, value);
}

static double y_of(const struct bp_chart *chart, double value)
{
	return PLOT_HEIGHT * (1 - place(&chart->y, value));
}

static void write_text(
	FILE *out, const char *class, const char *anchor, double x, double y, const char *text)
{
	fprintf(out, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, anchor,
		x, y);
	bp_write_xml_text(out, text);
	fputs("</text>\n", out);
}

static void write_axes(const struct bp_chart *chart, FILE *out)
{
	for (unsigned i = 0; i < chart->x.tick_count; i++) {
		double x = x_of(chart, chart->x.ticks[i].at);
		fprintf(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\"/>\n",
			x, x, PLOT_HEIGHT);
		write_text(out, "tick", "middle", x, PLOT_HEIGHT + 18, chart->x.ticks[i].label);
	}
	for (unsigned i = 0; i < chart->y.tick_count; i++) {
		double y = y_of(chart, chart->y.ticks[i].at);
		fprintf(out, "<line class=\"grid\" x1=\"0\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
			PLOT_WIDTH, y, y);
		write_text(out, "tick", "end", -8, y + 4, chart->y.ticks[i].label);
	}
	fprintf(out, "<rect class=\"frame\" width=\"%d\" height=\"%d\"/>\n", PLOT_WIDTH,
		PLOT_HEIGHT);
	write_text(out, "label", "middle", PLOT_WIDTH / 2.0, PLOT_HEIGHT + 42, chart->x.label);
	fprintf(out,
		"<text class=\"label\" text-anchor=\"middle\" transform=\"translate(%d,%d) "
		"rotate(-90)\">",
		-72, PLOT_HEIGHT / 2);
	bp_write_xml_text(out, chart->y.label);
	fputs("</text>\n", out);
}

/* A point far outside is put just outside: numbers stay small, and the clip does the rest. */
static double nearby(double value, double size)
{
	return fmin(fmax(value, -size), 2 * size);
}

static void write_line(
	const struct bp_chart *chart, const struct bp_chart_series *series, FILE *out)
{
	fprintf(out, "<polyline class=\"line c%u\" points=\"", series->colour);
	for (unsigned i = 0; i < series->count; i++)
		fprintf(out, "%s%.1f,%.1f", i > 0 ? " " : "",
			nearby(x_of(chart, series->x[i]), PLOT_WIDTH),
			nearby(y_of(chart, series->y[i]), PLOT_HEIGHT));
	fputs("\">", out);
	if (series->name != NULL) {
		fputs("<title>", out);
		bp_write_xml_text(out, series->name);
		fputs("</title>", out);
	}
	fputs("</polyline>\n", out);
}

static void write_legend(const struct bp_chart *chart, FILE *out)
{
	double x = LEGEND_LEFT - LEFT, y = 12;
	write_text(out, "label", "start", x, y, chart->legend);
	for (unsigned i = 0; i < chart->series_count; i++) {
		const struct bp_chart_series *series = &chart->series[i];
		if (series->name == NULL)
			continue;
		y += LEGEND_LINE;
		fprintf(out,
			"<line class=\"line c%u\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.0f\" y2=\"%.0f\"/>\n",
			series->colour, x, x + 24, y - 4, y - 4);
		write_text(out, "tick", "start", x + 32, y, series->name);
	}
}

static void write_chart(const struct bp_chart *chart, unsigned index, FILE *out)
{
	fprintf(out, "<g transform=\"translate(0,%u)\">\n", index * HEIGHT);
	write_text(out, "title", "start", LEFT, 28, chart->title);
	write_text(out, "remark", "start", LEFT, 48, chart->remark);
	fprintf(out, "<g transform=\"translate(%d,%d)\">\n", LEFT, TOP);
	write_axes(chart, out);
	fputs("<g clip-path=\"url(#plot)\">\n", out);
	for (unsigned i = 0; i < chart->series_count; i++)
		write_line(chart, &chart->series[i], out);
	fputs("</g>\n", out);
	write_legend(chart, out);
	fputs("</g>\n</g>\n", out);
}

void bp_chart_svg_write(const char *title, const char *description, const struct bp_chart *charts,
	unsigned count, FILE *out)
{
	unsigned height = count * HEIGHT;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 "
		"0 %d %u\" role=\"img\" aria-labelledby=\"title description\">\n<title "
		"id=\"title\">",
		WIDTH, height, WIDTH, height);
	bp_write_xml_text(out, title);
	fputs("</title>\n<desc id=\"description\">", out);
	bp_write_xml_text(out, description);
	fputs("</desc>\n", out);
	write_style(out);
	fprintf(out,
		"<defs><clipPath id=\"plot\"><rect width=\"%d\" height=\"%d\"/></clipPath></defs>\n"
		"<rect class=\"paper\" width=\"%d\" height=\"%u\"/>\n",
		PLOT_WIDTH, PLOT_HEIGHT, WIDTH, height);
	for (unsigned i = 0; i < count; i++)
		write_chart(&charts[i], i, out);
	fputs("</svg>\n", out);
}
