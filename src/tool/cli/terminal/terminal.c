/* SPDX-License-Identifier: MIT */
/* See terminal.h. */
#include "cli/terminal/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/options/options.h"

#define COLUMNS_DEFAULT 80
#define COLUMNS_MIN 20
#define COLUMNS_MAX 10000

/* What a terminal says of itself is newer than a variable that was set when a shell began. */
static unsigned terminal_columns(void)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t number;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col < COLUMNS_MIN ? COLUMNS_MIN : size.ws_col;
	if (text != NULL && bp_parse_number(text, &number, NULL) && number >= COLUMNS_MIN &&
		number <= COLUMNS_MAX)
		return (unsigned)number;
	return COLUMNS_DEFAULT;
}

bool bp_terminal_is_dumb(void)
{
	const char *terminal = getenv("TERM");
	return terminal == NULL || *terminal == '\0' || strcmp(terminal, "dumb") == 0;
}

void bp_terminal_look(struct bp_report_options *options)
{
	const char *no_colour = getenv("NO_COLOR");
	/* Characters only: numbers keep their decimal point. */
	setlocale(LC_CTYPE, "");
	options->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	options->columns = terminal_columns();
	options->terminal = isatty(STDOUT_FILENO);
	options->colour = options->terminal && (no_colour == NULL || *no_colour == '\0') &&
			  !bp_terminal_is_dumb();
}
