# SPDX-License-Identifier: MIT
# As the user postgres: it refuses root. Processes by fork, jit's LLVM, parallel queries.
as() { /usr/lib/postgresql/15/bin/"$@"; }
export LC_ALL=C
as initdb -A trust -N --no-instructions data > initdb.log 2>&1 || cat initdb.log
as pg_ctl -D data -w -s -l $PWD/data/log -o "-h 127.0.0.1 -p $PORT -k ''" start
ask() { as psql -X -q -A -t -h 127.0.0.1 -p $PORT -d postgres "$@"; }
ask -c 'create table t as select i, md5(i::text) m from generate_series(1, 30000) i' -c 'create index on t(m)' 	-c "select count(distinct substr(m, 1, 3)), sum(i) from t" -c "set jit_above_cost = 0" 	-c "select m from t where i % 77 = 3 order by m limit 3" -c "select to_json(t) from t limit 1"
ask -c 'select nonsense' || echo status $?
as pg_ctl -D data -w -s -m fast stop
