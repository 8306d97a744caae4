/* SPDX-License-Identifier: MIT */
/*
 * Ids of attempts to push a run to ClickHouse (sql/clickhouse.sql). Of the whole attempts of a run
 * the one with the smallest id counts. Those of runs that have ended are random digits. Sums have a
 * prefix that comes before all digits, versions of runs that go on one that comes after them, and
 * both go on with the seconds that are left until 9999999999, so that the newest is the smallest.
 */
#ifndef BP_FLEET_PUSH_ID_H
#define BP_FLEET_PUSH_ID_H

#include <stdint.h>

#define BP_PUSH_ID_BYTES 33u
#define BP_PUSH_SUM "+"
#define BP_PUSH_VERSION "r"
#define BP_PUSH_SECONDS_END UINT64_C(9999999999)

/* `prefix`: one of the above, with the moment in seconds since 1970; "": random digits alone. */
void bp_push_id_draw(const char *prefix, uint64_t unix_s, char ret_id[BP_PUSH_ID_BYTES]);
/* The moment of an id with a prefix; 0: it is none. */
uint64_t bp_push_id_unix_s(const char *id);

#endif
