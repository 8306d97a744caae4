# SPDX-License-Identifier: MIT
# Debian's build: jemalloc is linked in.
redis-server --port $PORT --bind 127.0.0.1 --save '' --daemonize no --dir . > /dev/null & process=$!
ready
for i in $(seq 1 2000); do echo "RPUSH list$((i % 50)) $i"; echo "SET key$i $i$i"; echo "ZADD z $i m$i"; done | redis-cli -p $PORT | cksum
redis-cli -p $PORT EVAL 'local t = {} for i = 1, 2000 do t[i] = redis.call("GET", "key" .. i) end return #table.concat(t)' 0
redis-cli -p $PORT SAVE; redis-cli -p $PORT BGSAVE > /dev/null
redis-cli -p $PORT DEBUG RELOAD; redis-cli -p $PORT DBSIZE; redis-cli -p $PORT SHUTDOWN NOSAVE || true
wait $process; rm -f dump.rdb
