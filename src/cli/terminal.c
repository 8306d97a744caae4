/* SPDX-License-Identifier: MIT */
/* See terminal.h. */
#include "cli/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/options.h"

#define COLUMNS_DEFAULT 100 /* where the output is no terminal */

static unsigned terminal_columns(void)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t number;
	if (text != NULL && bp_parse_number(text, &number, NULL) && number >= 20 && number <= 10000)
		return (unsigned)number;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return COLUMNS_DEFAULT;
}

void bp_terminal_look(struct bp_report_options *options)
{
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
	/* Characters only: numbers keep their decimal point. */
	setlocale(LC_CTYPE, "");
	options->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	options->columns = terminal_columns();
	options->colour = isatty(STDOUT_FILENO) && (no_colour == NULL || *no_colour == '\0') &&
			  (terminal == NULL || strcmp(terminal, "dumb") != 0);
}
