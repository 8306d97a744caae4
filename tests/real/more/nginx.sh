# SPDX-License-Identifier: MIT
# A master and two workers; ab with eight connections; a reload; an orderly end.
mkdir -p logs www && cp words.txt www/ && cat > nginx.conf <<END
user root; worker_processes 2; daemon on; pid $PWD/nginx.pid; error_log $PWD/logs/error.log crit;
events { worker_connections 64; }
http { access_log off; gzip on; gzip_types text/plain; server { listen 127.0.0.1:$PORT; root $PWD/www; } }
END
nginx -c $PWD/nginx.conf -p $PWD -e $PWD/logs/error.log
fetch words.txt | cksum
fetch words.txt --compressed | cksum
served 400 words.txt
nginx -c $PWD/nginx.conf -p $PWD -e $PWD/logs/error.log -s reload
fetch words.txt | cksum
process=$(cat nginx.pid); kill -QUIT $process; gone $process
