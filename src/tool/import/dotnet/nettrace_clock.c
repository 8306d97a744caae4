/* SPDX-License-Identifier: MIT */
/* See nettrace_clock.h. */
#include "import/dotnet/nettrace_clock.h"

#include "model/sample.h"

/* The frequency of the clock is whatever the machine had. */
uint64_t bp_nettrace_ns(const struct bp_nettrace_reader *reader, uint64_t ticks)
{
	const unsigned __int128 value =
		(unsigned __int128)ticks * 1000000000u / reader->ticks_per_second;
	return value >= BP_TIME_NEVER ? BP_TIME_NEVER - 1 : (uint64_t)value;
}

/* Days from 1970-01-01 in the proleptic Gregorian calendar (H. Hinnant, days_from_civil). */
static int64_t days(int64_t year, unsigned month, unsigned day)
{
	year -= month <= 2;
	const int64_t era = (year >= 0 ? year : year - 399) / 400;
	const unsigned of_era = (unsigned)(year - era * 400);
	const unsigned of_year = (153 * (month + (month > 2 ? -3u : 9u)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

uint64_t bp_nettrace_start_real_ns(const struct bp_nettrace_reader *reader)
{
	const uint16_t *utc = reader->start_utc;
	if (utc[0] < 1970 || utc[0] > 2500 || utc[1] < 1 || utc[1] > 12)
		return 0;
	const int64_t seconds =
		days(utc[0], utc[1], utc[3]) * 86400 + utc[4] * 3600 + utc[5] * 60 + utc[6];
	return (uint64_t)seconds * 1000000000u + (uint64_t)utc[7] * 1000000u;
}
