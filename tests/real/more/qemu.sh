# SPDX-License-Identifier: MIT
# Another processor: code made at run time, coroutines, signals by hand.
cat > s.c <<END
#include <stdio.h>
#include <stdlib.h>
int main(void) { long t = 0; for (int i = 1; i < 3000; i++) { char *p = malloc(i); p[i - 1] = (char)i; t += p[i - 1]; free(p); } printf("%ld\n", t); return 6; }
END
aarch64-linux-gnu-gcc -O1 -static -o s s.c
qemu-aarch64 ./s || echo status $?
rm s
