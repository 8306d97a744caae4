# SPDX-License-Identifier: MIT
# The event form: processes with many threads each.
mkdir -p www && cp words.txt www/ && cat > httpd.conf <<END
ServerRoot $PWD
ServerName localhost
Listen 127.0.0.1:$PORT
PidFile $PWD/httpd.pid
ErrorLog $PWD/error.log
LogLevel crit
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so
LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
StartServers 2
ThreadsPerChild 16
User nobody
Group nogroup
DocumentRoot $PWD/www
SetOutputFilter DEFLATE
END
chmod -R a+rX www
apache2 -f $PWD/httpd.conf
ready
fetch words.txt | cksum
served 400 words.txt
process=$(cat httpd.pid); apache2 -f $PWD/httpd.conf -k graceful-stop; gone $process
