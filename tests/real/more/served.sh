# SPDX-License-Identifier: MIT
# What the scripts of servers share. PORT and SECOND are free ports of 127.0.0.1.
ready() {
	for _ in $(seq 1 100); do
		if (: < /dev/tcp/127.0.0.1/$PORT) 2> /dev/null; then return 0; fi
		sleep .1
	done
	echo "nothing listens" >&2; exit 1
}
fetch() { file=$1; shift; curl -s --retry 20 --retry-connrefused --retry-delay 1 "$@" "http://127.0.0.1:$PORT/$file"; }
served() { ab -q -n "$1" -c 8 "http://127.0.0.1:$PORT/$2" 2>&1 | grep -E '^(Complete|Failed|Non-2xx)'; }
gone() { for _ in $(seq 1 100); do kill -0 "$1" 2> /dev/null || return 0; sleep .1; done; echo "still runs" >&2; exit 1; }
