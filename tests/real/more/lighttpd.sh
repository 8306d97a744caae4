# SPDX-License-Identifier: MIT
mkdir -p www && cp words.txt www/ && cat > lighttpd.conf <<END
server.document-root = "$PWD/www"
server.port = $PORT
server.bind = "127.0.0.1"
server.modules = ( "mod_dirlisting" )
dir-listing.activate = "enable"
mimetype.assign = ( ".txt" => "text/plain" )
END
lighttpd -D -f lighttpd.conf 2> /dev/null & process=$!
ready
fetch words.txt | cksum
served 400 words.txt
kill -INT $process; wait $process
