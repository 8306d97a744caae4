# SPDX-License-Identifier: MIT
memcached -u root -l 127.0.0.1 -p $PORT -t 4 -m 32 & process=$!
ready
/usr/bin/python3 -I - $PORT <<END
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); f = s.makefile("rwb")
for i in range(3000):
    f.write(b"set key%d 0 0 %d\r\n%s\r\n" % (i, i % 900, b"x" * (i % 900)))
f.flush()
print({f.readline() for i in range(3000)})
total = 0
for i in range(0, 3000, 3):
    f.write(b"get key%d\r\n" % i); f.flush()
    total += int(f.readline().split()[3]); f.readline(); f.readline()
f.write(b"flush_all\r\n"); f.flush(); print(total, f.readline())
END
kill $process; wait $process || echo status $?
