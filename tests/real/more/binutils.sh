# SPDX-License-Identifier: MIT
gcc -g -O1 -c large.c -o large.o
objdump -d --no-show-raw-insn large.o | cksum; readelf -a -W large.o | cksum; nm large.o | cksum
ld -r -o whole.o large.o; strip -g -o stripped.o whole.o; cksum < stripped.o; size stripped.o | tail -1
ar rcD all.a large.o stripped.o; ar t all.a; addr2line -f -e large.o 0x10 | tail -2
