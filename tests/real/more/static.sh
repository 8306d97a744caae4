# SPDX-License-Identifier: MIT
# Programs that the recorder cannot be in, below one that it is in: static ones.
cat > s.c <<END
#include <stdio.h>
#include <stdlib.h>
int main(void) { char *p = malloc(1000); p[0] = 'x'; printf("%c\n", p[0]); free(p); return 3; }
END
gcc -O1 -static -o s s.c && { ./s || echo status $?; }
musl-gcc -static -o m s.c && { ./m || echo status $?; }
busybox sh -c 'seq 1 5 | busybox awk "{ s += \$1 } END { print s }"; exit 4' || echo status $?
busybox sort words.txt | busybox md5sum
rm s m
