# SPDX-License-Identifier: MIT
# Certificates, every digest, a TLS server and its client.
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key -out certificate -days 2 2> /dev/null
openssl verify -CAfile certificate certificate
for digest in sha256 sha512 blake2b512 sha3-256; do openssl dgst -$digest words.txt; done
openssl enc -aes-256-cbc -pbkdf2 -S 0102030405060708 -k secret -in words.txt | openssl dgst -sha1
openssl s_server -quiet -accept 127.0.0.1:$PORT -cert certificate -key key -WWW > /dev/null 2>&1 & process=$!
ready
curl -sk https://127.0.0.1:$PORT/words.txt | cksum
kill $process; wait $process 2> /dev/null || echo status $?
