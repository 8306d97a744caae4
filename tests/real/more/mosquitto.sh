# SPDX-License-Identifier: MIT
printf 'listener %d 127.0.0.1\nallow_anonymous true\npersistence false\nlog_type none\n' $PORT > broker.conf
mosquitto -c broker.conf & process=$!
ready
mosquitto_sub -h 127.0.0.1 -p $PORT -t 'a/#' -C 501 > heard & listener=$!
until mosquitto_pub -h 127.0.0.1 -p $PORT -t a/ready -m ready && sleep .1 && test -s heard; do :; done
seq 1 600 | mosquitto_pub -h 127.0.0.1 -p $PORT -t a/b -q 1 -l
wait $listener; grep -v ready heard | head -400 | cksum; rm heard
kill $process; wait $process || echo status $?
