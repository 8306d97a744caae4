#!/bin/sh
# SPDX-License-Identifier: MIT
# PostgreSQL: a new cluster, its regression tests, pgbench by eight clients, the crash of a backend
# in the middle, and a dump that must be the same in every run. Prints TAP beside pg_regress's lines.
#
#   postgres_load.sh BIN PGXS TREE DLPATH FOLDER      as the user who shall own the cluster
set -u
bin=$1 pgxs=$2 tree=$3 dlpath=$4 folder=$5
export PGHOST="$folder" PGPORT=28741 PGDATABASE=postgres PGUSER=tester PGDATA="$folder/cluster"
export PATH="$bin:$PATH"
number=0
say() {
	number=$((number + 1))
	if [ "$1" = 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}
ask() { psql -qAtX -c "$1" 2>/dev/null; }
start() { pg_ctl -w -t 60 -l "$folder/log" -o "-k $folder -c listen_addresses= $1" start >/dev/null; }

initdb -U tester -A trust -E UTF8 --locale=C.UTF-8 --no-sync >/dev/null
say $? initdb
start "-c fsync=off -c max_connections=50"
say $? start
cd "$folder" || exit 1
"$pgxs/src/test/regress/pg_regress" --bindir="$bin" --inputdir="$tree/src/test/regress" \
	--outputdir="$folder" --dlpath="$dlpath" --max-connections=8 --dbname=regression \
	--schedule="$tree/src/test/regress/parallel_schedule" 2>&1
pgbench -q -i -s 3 2>/dev/null
say $? "pgbench -i"
pgbench -n -c 8 -j 2 -t 1500 2>&1 | grep -q 'actually processed: 12000/12000'
say $? "12000 transactions"
pgbench -n -S -M prepared -C -c 4 -t 100 2>&1 | grep -q 'actually processed: 400/400'
say $? "400 connections"
sums=$(ask "select (select sum(abalance) from pgbench_accounts) - (select sum(tbalance) from
	pgbench_tellers), (select sum(bbalance) from pgbench_branches) - (select sum(delta) from
	pgbench_history), (select count(*) from pgbench_history)")
[ "$sums" = "0|0|12000" ]
say $? "the sums agree"
ask "set jit_above_cost = 0; set jit_inline_above_cost = 0; set jit_optimize_above_cost = 0;
	select sum(abs(aid * 3 % 17) + length(filler)) from pgbench_accounts" > "$folder/jit"
say $? "compiled at run time: $(cat "$folder/jit")"
ask "create table made as select i, md5(i::text) as text from generate_series(1, 60000) i;
	create index on made(text); update made set text = upper(text) where i % 3 = 0;
	vacuum analyze made"
pgbench -n -c 4 -T 30 >/dev/null 2>&1 &
load=$!
sleep 2
kill -9 "$(ask "select pid from pg_stat_activity where query ~ '^(UPDATE|END|INSERT|BEGIN)'
	and pid <> pg_backend_pid() limit 1")"
wait $load
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ "$(ask 'select 1')" = 1 ] && break
	sleep 1
done
say "$([ "$(ask 'select 1')" = 1 ]; echo $?)" "recovers from a backend's crash"
[ "$(ask "select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from
	pgbench_history)")" = t ]
say $? "the sums agree after the crash"
say 0 "dump $(pg_dump -t made | sed '/restrict/d' | sha256sum)"
pg_ctl -w -m fast stop >/dev/null
say $? stop
start "-c jit=off"
say $? "start again"
pg_ctl -w -m immediate stop >/dev/null
say $? "immediate stop"
echo "LOG $(grep -c 'terminated by signal' "$folder/log")"
