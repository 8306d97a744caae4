# SPDX-License-Identifier: MIT
# In front of a web server of python3's, four threads.
mkdir -p www && cp words.txt www/
/usr/bin/python3 -I -m http.server --bind 127.0.0.1 --directory www $SECOND > /dev/null 2>&1 & behind=$!
cat > haproxy.cfg <<END
global
	nbthread 4
defaults
	mode http
	timeout connect 5s
	timeout client 5s
	timeout server 5s
frontend front
	bind 127.0.0.1:$PORT
	default_backend back
backend back
	server one 127.0.0.1:$SECOND
END
PORT=$SECOND ready
haproxy -f haproxy.cfg -db -q & process=$!
ready
fetch words.txt | cksum
served 100 words.txt
kill -USR1 $process; wait $process
kill $behind; wait $behind || true
