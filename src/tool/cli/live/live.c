/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll live PID|FILE`: follows a trace while it grows. Readings (live_source.h) make a view
 * (live_view.h), which is drawn (live_draw.h) on a screen (live_screen.h); keys change what is
 * asked. One thread: a key that comes during a reading waits for its end.
 *
 * A reading costs what the trace is long. So that watching stays cheap the time between two
 * readings is at least twenty-five times the processor time of one, and the last line says so.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/system_call.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/live/live_draw.h"
#include "cli/live/live_screen.h"
#include "cli/options/allocator_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/query_options.h"
#include "cli/terminal/terminal.h"
#include "policy/shown.h"
#include "report/parts/header.h"

#define CPU_SHARE 0.04 /* and drawing and keys come on top: less than 0.05 in all */
#define DELAY_MIN_NS 100000000u
#define DELAY_MAX_NS 3600000000000u
#define PROMPT_BYTES 200
#define ROWS_ONCE 20

struct live {
	const struct bp_arguments *arguments;
	struct bp_query_options asked;
	struct bp_live_source source;
	struct bp_live_view view;
	struct bp_live_frame frame;
	struct bp_live_keys keys;
	uint64_t delay_ns, next_ns, cost_ns;
	char prompt[PROMPT_BYTES + 1];
	bool typing, quit;
	struct bp_error message;
};

static uint64_t time_of(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

/* Processor time of ours, or of the children that read symbols for us. */
static uint64_t used_ns(int whose)
{
	struct rusage usage;
	getrusage(whose, &usage);
	return time_of(usage.ru_utime) + time_of(usage.ru_stime);
}

/* How long until the next reading. */
static void schedule(struct live *live)
{
	const uint64_t least_ns = (uint64_t)((double)live->cost_ns / CPU_SHARE);
	live->frame.lengthened = least_ns > live->delay_ns;
	live->frame.refresh_ns = live->frame.lengthened ? least_ns : live->delay_ns;
	live->next_ns = bp_system_time_ns(CLOCK_MONOTONIC) + live->frame.refresh_ns;
}

static void read_again(struct live *live)
{
	const uint64_t before_ns = used_ns(RUSAGE_SELF) + used_ns(RUSAGE_CHILDREN);
	struct bp_live_view *view = &live->view;
	/* What was made points into the profile that goes: the view is made again in any case. */
	char *name = view->drilled == NULL && view->cursor > 0 && view->cursor < view->count
			     ? strdup(view->rows[view->cursor].name)
			     : NULL;
	bp_live_view_drop(view);
	const bool fresh = bp_live_source_read(&live->source);
	bp_live_view_make(view, &live->source, fresh);
	bp_live_view_find(view, name);
	free(name);
	live->cost_ns = used_ns(RUSAGE_SELF) + used_ns(RUSAGE_CHILDREN) - before_ns;
	schedule(live);
}

static void cycle(int *value, int count, int step)
{
	*value = (*value + step + count) % count;
}

/* `mapped`: of what was mapped, of which nothing is temporary. */
static void next_metric(struct bp_live_view *view, bool mapped)
{
	static const enum bp_metric order[] = { BP_METRIC_LIVE, BP_METRIC_ALLOCATED,
		BP_METRIC_TEMPORARY, BP_METRIC_PEAK };
	size_t at = 0;
	while (at < BP_COUNT(order) - 1 && order[at] != view->metric)
		at++;
	do
		at = (at + 1) % BP_COUNT(order);
	while (mapped && order[at] == BP_METRIC_TEMPORARY);
	view->metric = order[at];
}

static void next_key(struct bp_live_view *view, int step)
{
	static const enum bp_key order[] = { BP_KEY_FUNCTION, BP_KEY_STACK, BP_KEY_LINE,
		BP_KEY_FILE, BP_KEY_MODULE, BP_KEY_THREAD, BP_KEY_TYPE, BP_KEY_LABEL, BP_KEY_SIZE,
		BP_KEY_PROCESS };
	int at = 0;
	while (at < (int)BP_COUNT(order) - 1 && order[at] != view->by)
		at++;
	cycle(&at, BP_COUNT(order), step);
	view->by = order[at];
	bp_live_view_back(view);
	view->cursor = view->first = 0;
}

static void change_delay(struct live *live, bool longer)
{
	uint64_t delay_ns = longer ? live->delay_ns * 2 : live->delay_ns / 2;
	if (delay_ns < DELAY_MIN_NS)
		delay_ns = DELAY_MIN_NS;
	if (delay_ns > DELAY_MAX_NS)
		delay_ns = DELAY_MAX_NS;
	live->delay_ns = delay_ns;
	schedule(live);
}

static void make_again(struct live *live)
{
	bp_live_view_make(&live->view, &live->source, false);
}

static bool open_source(
	const struct live *live, struct bp_live_source *source, bool mapped, struct bp_error *error)
{
	const struct bp_arguments *arguments = live->arguments;
	if (!bp_live_source_open(source, arguments->operands[0], bp_option_given(arguments, "tree"),
		    mapped, bp_option_value(arguments, "debug-directory"), error))
		return false;
	if (bp_input_knows_mappings(&source->profile, arguments->operands[0], error))
		return true;
	bp_live_source_finish(source);
	return false;
}

/* From what was malloc'ed to what the program mapped itself, and back: another reading of the same,
 * with a view that begins now. Where that cannot be, a message says why. */
static void switch_mapped(struct live *live)
{
	struct bp_live_source other;
	struct bp_live_view *view = &live->view;
	if (!open_source(live, &other, !live->source.mapped, &live->message))
		return;
	bp_live_view_back(view);
	bp_live_view_drop(view);
	bp_live_source_finish(&live->source);
	live->source = other;
	view->metric = BP_METRIC_LIVE;
	view->has_base = false;
	view->history_count = view->counted_count = 0;
	view->cursor = view->first = 0;
	bp_live_view_make(view, &live->source, true);
}

/* Keys that move the cursor; false: it is none. */
static bool move(struct live *live, uint32_t key)
{
	struct bp_live_view *view = &live->view;
	const uint32_t page = bp_live_page(&live->frame), lines = bp_live_view_lines(view);
	const uint32_t last = lines > 0 ? lines - 1 : 0;
	uint32_t at = view->cursor;
	switch (key) {
	case BP_LIVE_KEY_UP:
		at -= at > 0;
		break;
	case BP_LIVE_KEY_DOWN:
		at += at < last;
		break;
	case BP_LIVE_KEY_PAGE_UP:
		at = at > page ? at - page : 0;
		break;
	case BP_LIVE_KEY_PAGE_DOWN:
		at = last - at > page ? at + page : last;
		break;
	case BP_LIVE_KEY_HOME:
		at = 0;
		break;
	case BP_LIVE_KEY_END:
		at = last;
		break;
	default:
		return false;
	}
	view->cursor = at;
	return true;
}

/* A key while a filter is typed. */
static void type(struct live *live, uint32_t key)
{
	const size_t length = strlen(live->prompt);
	if (key == BP_LIVE_KEY_ENTER) {
		live->typing = false;
		bp_live_view_back(&live->view);
		live->view.cursor = live->view.first = 0;
		if (bp_live_view_filter(&live->view, live->prompt, &live->message))
			make_again(live);
	} else if (key == BP_LIVE_KEY_ESCAPE) {
		live->typing = false;
	} else if (key == BP_LIVE_KEY_BACKSPACE) {
		size_t end = length;
		while (end > 0 && ((unsigned char)live->prompt[--end] & 0xc0) == 0x80)
			;
		live->prompt[end] = '\0';
	} else if (key == 21) { /* ^U */
		live->prompt[0] = '\0';
	} else if (key >= ' ' && key < BP_LIVE_KEY_UP && length + BP_UTF8_BYTES < PROMPT_BYTES) {
		live->prompt[length + bp_utf8_write(key, live->prompt + length)] = '\0';
	}
}

/* Keys after which figures must be made again; false: it is none. */
static bool ask_else(struct live *live, uint32_t key)
{
	struct bp_live_view *view = &live->view;
	switch (key) {
	case 'm':
		next_metric(view, live->source.mapped);
		break;
	case 'k':
	case 'K':
		next_key(view, key == 'k' ? 1 : -1);
		break;
	case 'b':
		view->objects = !view->objects;
		break;
	case 'c':
		view->cumulative = !view->cumulative;
		break;
	case 'z':
		bp_live_view_rebase(view);
		break;
	case BP_LIVE_KEY_ENTER:
		bp_live_view_drill(view);
		break;
	default:
		return false;
	}
	make_again(live);
	return true;
}

static void order_else(struct live *live, uint32_t key)
{
	struct bp_live_view *view = &live->view;
	int sort = (int)view->sort;
	if (key == 'r')
		view->ascending = !view->ascending;
	else
		cycle(&sort, BP_LIVE_SORT_COUNT, key == 's' ? 1 : -1);
	view->sort = (enum bp_live_sort)sort;
	bp_live_view_sort(view);
	view->cursor = view->first = 0;
}

static void press(struct live *live, uint32_t key)
{
	live->message.text[0] = '\0';
	if (live->typing) {
		type(live, key);
		return;
	}
	if (live->frame.help && key != 'q') {
		live->frame.help = false;
		return;
	}
	if (move(live, key) || ask_else(live, key))
		return;
	if (key == 'q') {
		live->quit = true;
	} else if (key == 'M') {
		switch_mapped(live);
	} else if (key == 'h' || key == '?') {
		live->frame.help = true;
	} else if (key == ' ') {
		live->frame.paused = !live->frame.paused;
		live->next_ns = 0;
	} else if (key == '+' || key == '-') {
		change_delay(live, key == '-');
	} else if (key == '/') {
		live->typing = true;
		live->prompt[0] = '\0';
	} else if (key == 's' || key == 'S' || key == 'r') {
		order_else(live, key);
	} else if (key == BP_LIVE_KEY_ESCAPE && live->view.drilled != NULL) {
		bp_live_view_back(&live->view);
		make_again(live);
	} else if (key == BP_LIVE_KEY_ESCAPE && live->view.filter[0] != '\0') {
		bp_live_view_filter(&live->view, "", NULL);
		make_again(live);
	}
}

static bool draw(struct live *live)
{
	struct bp_live_frame *frame = &live->frame;
	bp_live_screen_size(&frame->options.columns, &frame->rows);
	frame->options.names_as_recorded =
		bp_names_as_recorded(&live->source.profile, live->view.by);
	frame->prompt = live->typing ? live->prompt : NULL;
	frame->message = live->message.text[0] != '\0' ? live->message.text : NULL;
	char *text = bp_live_draw(&live->view, &live->source, frame);
	const bool good = text != NULL && bp_live_screen_draw(text, frame->rows);
	free(text);
	return good;
}

/* Until the user goes. */
static int follow(struct live *live)
{
	struct bp_error error = { 0 };
	bool good = true;
	if (!bp_live_screen_enter(&error))
		return bp_command_fail(1, &error);
	while (!live->quit && (good = draw(live))) {
		const uint64_t at_ns = bp_system_time_ns(CLOCK_MONOTONIC);
		uint64_t left_ns = live->next_ns > at_ns ? live->next_ns - at_ns : 0;
		uint32_t key;
		if (live->frame.paused)
			left_ns = DELAY_MAX_NS;
		const enum bp_live_event event = bp_live_screen_wait(&live->keys, left_ns, &key);
		if (event == BP_LIVE_KEY)
			press(live, key);
		else if (event == BP_LIVE_GONE)
			break;
		else if (event == BP_LIVE_TIMEOUT && !live->frame.paused)
			read_again(live);
	}
	bp_live_screen_leave();
	return good ? 0 : bp_command_fail_with(1, "out of memory");
}

static int print_once(struct live *live)
{
	char *text = bp_live_draw(&live->view, &live->source, &live->frame);
	if (text == NULL)
		return bp_command_fail_with(1, "out of memory");
	fputs(text, stdout);
	free(text);
	if (live->view.made)
		return 0;
	return bp_command_fail(1, &live->view.failure);
}

static bool read_options(struct live *live, struct bp_error *error)
{
	const struct bp_arguments *arguments = live->arguments;
	const char *sort = bp_option_value_or(arguments, "sort", "size");
	uint64_t rows = ROWS_ONCE;
	bool given;
	struct bp_live_view *view = &live->view;
	live->delay_ns = 1000000000u;
	if (arguments->operand_count != 1)
		return bp_error_set(error, "%s",
			arguments->operand_count == 0
				? "live needs a process or a trace: bytepoll live PID"
				: "live follows one process or trace: one word too many");
	if (!bp_query_options_read(arguments, &live->asked, error) ||
		!bp_mapped_options_check(arguments, &live->asked, error) ||
		!bp_option_time(arguments, "delay", &given, &live->delay_ns, error) ||
		!bp_option_number(arguments, "rows", BP_LIVE_ROWS_MAX, &rows, error))
		return false;
	if (live->delay_ns < DELAY_MIN_NS || live->delay_ns > DELAY_MAX_NS)
		return bp_error_set(error, "--delay: from 0.1 seconds to an hour");
	if (bp_option_given(arguments, "rows") && !bp_option_given(arguments, "once"))
		return bp_error_set(error, "--rows is for --once: a terminal shows what fits");
	view->metric = live->asked.query.metric;
	view->by = live->asked.query.by;
	view->label = live->asked.query.label;
	view->usable = live->asked.query.usable;
	view->cumulative = live->asked.query.cumulative;
	view->confidence = live->asked.query.confidence;
	view->objects = bp_option_given(arguments, "objects");
	while (strcmp(bp_live_sort_names[view->sort], sort) != 0)
		view->sort++;
	live->frame.options.rows = (uint32_t)rows;
	live->frame.options.si = bp_option_given(arguments, "si");
	live->frame.refresh_ns = live->delay_ns;
	return !bp_option_given(arguments, "filter") ||
	       bp_live_view_filter(view, bp_option_value(arguments, "filter"), error);
}

static bool can_draw(void)
{
	const char *terminal = getenv("TERM");
	return isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && terminal != NULL &&
	       *terminal != '\0' && strcmp(terminal, "dumb") != 0;
}

/* Of a program that has ended little may be live: then the peak is shown first. */
static void choose_metric(struct live *live, bool once)
{
	static const char text[] = "little is live at the end: the peak is shown";
	struct bp_live_view *view = &live->view;
	if (bp_option_given(live->arguments, "metric") || live->source.state != BP_LIVE_ENDED ||
		!view->made || view->metric != BP_METRIC_LIVE ||
		!bp_little_lives(&view->aggregation))
		return;
	view->metric = BP_METRIC_PEAK;
	make_again(live);
	if (once)
		fprintf(stderr, "bytepoll: %s (--metric live for the rest)\n", text);
	else
		bp_error_set(&live->message, "%s (m: another metric)", text);
}

static int run(const struct bp_arguments *arguments)
{
	struct live *live = calloc(1, sizeof *live);
	const bool once = bp_option_given(arguments, "once");
	const uint64_t before_ns = used_ns(RUSAGE_SELF);
	struct bp_error error = { 0 };
	int status;
	if (live == NULL)
		return bp_command_fail_with(1, "out of memory");
	live->arguments = arguments;
	if (!read_options(live, &error)) {
		free(live);
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	}
	bp_terminal_look(&live->frame.options);
	live->frame.options.colour = live->frame.options.colour && !once;
	if (!open_source(live, &live->source, live->asked.mapped, &error)) {
		free(live);
		return bp_command_fail(1, &error);
	}
	if (!once && !can_draw()) {
		bp_live_source_finish(&live->source);
		free(live);
		return bp_command_fail_with(
			1, "no terminal that can be drawn on: --once prints one frame as text");
	}
	bp_live_view_make(&live->view, &live->source, true);
	choose_metric(live, once);
	/* Without that of the symbols, most of which are read once. */
	live->cost_ns = used_ns(RUSAGE_SELF) - before_ns;
	schedule(live);
	status = once ? print_once(live) : follow(live);
	bp_live_view_finish(&live->view);
	bp_live_source_finish(&live->source);
	free(live);
	return status;
}

static const struct bp_option options[] = {
	{ .summary = "What is followed, and how often" },
	{ .name = "delay",
		.letter = 'd',
		.argument = "TIME",
		.summary = "between two readings (1 s); longer where a reading costs much" },
	{ .name = "tree",
		.letter = 't',
		.summary = "of a PID its running descendants too (a FILE has its tree)" },
	{ .name = "once", .summary = "print one frame as text and end" },
	{ .name = "rows", .letter = 'n', .argument = "N", .summary = "of --once: rows (20)" },
	{ .summary = "What is shown first; keys change it" },
	BP_OPTION_METRIC_OR_MAPPED_ALONE,
	BP_OPTION_BY,
	{ .name = "sort",
		.argument = "COLUMN",
		.choices = "size|rate|change|samples|name",
		.summary = "order of the rows (default: size)" },
	{ .name = "objects", .summary = "numbers of objects, not bytes" },
	{ .name = "filter",
		.letter = 'F',
		.argument = "KEY=GLOB",
		.summary = "only what matches: function=parse_*|load_*, size=64..4K ..." },
	BP_OPTION_CUMULATIVE,
	BP_OPTION_ALLOCATORS,
	BP_OPTION_FRAMES,
	BP_OPTION_BYTES,
	{ .name = "si", .summary = "kB, MB, GB instead of KiB, MiB, GiB" },
	BP_OPTION_CONFIDENCE,
	BP_OPTION_DEBUG_DIRECTORY,
	{ 0 },
};

const struct bp_command bp_command_live = {
	.name = "live",
	.summary = "watch a running process's heap in the terminal",
	.usage = "[options] PID|FILE",
	.details =
		"Follows a process that runs under bytepoll, like top: what is live, who allocates\n"
		"how fast, and what changed since the view began, with the confidence interval of\n"
		"every figure. FILE is a trace that is being written, or has ended. The process is\n"
		"not stopped and does not notice; only its owner and root may look.\n"
		"\n"
		"  up down PgUp PgDn Home End  move        Enter  who calls whom below a row\n"
		"  m  metric   k K  key   s S r  order     Esc    back, then without filter\n"
		"  b  bytes or objects    c  cumulative    /      filter: name, glob, KEY=GLOB\n"
		"  space  pause    + -  more or less often  z  changes since now    h ?  help\n"
		"  M  what the program mapped itself (run --mapped), and back\n"
		"\n"
		"A change carries a mark where it is established (a false discovery rate of 5 %\n"
		"at each look). allocated/s is of the last ten seconds. Watching takes less than\n"
		"5 % of a processor: where one reading takes long, there are fewer of them.",
	.options = options,
	.examples = "bytepoll live $(pidof redis-server)\n"
		    "    what it holds, second by second\n"
		    "bytepoll live --metric allocated --sort rate app.bpt\n"
		    "    who allocates fastest\n"
		    "bytepoll live --metric mapped $(pidof redis-server)\n"
		    "    what it mapped itself, exactly, where run --mapped records that\n"
		    "bytepoll live --once --by line app.bpt\n"
		    "    one frame, for a script\n",
	.exit_statuses = "0  done\n1  failed: no such process, or no terminal\n2  wrong usage\n",
	.usage_status = 2,
	.run = run,
};
