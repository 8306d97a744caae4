# SPDX-License-Identifier: MIT
mkdir -p www && cp words.txt data.json www/
/usr/bin/python3 -I -m http.server --bind 127.0.0.1 --directory www $PORT > /dev/null 2>&1 & process=$!
ready
curl -s --parallel --parallel-max 4 -O "http://127.0.0.1:$PORT/words.txt" -O "http://127.0.0.1:$PORT/data.json" 2> /dev/null; cksum words.txt data.json
wget -q -O copy.txt "http://127.0.0.1:$PORT/words.txt"; cmp copy.txt words.txt && echo same
curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$PORT/nothing"
kill $process; wait $process || echo status $?
