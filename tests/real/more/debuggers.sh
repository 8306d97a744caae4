# SPDX-License-Identifier: MIT
# What looks into other processes, both sides profiled.
cat > s.c <<END
#include <stdio.h>
#include <stdlib.h>
int deep(int n) { return n ? deep(n - 1) + 1 : (int)(size_t)malloc(n + 1) * 0; }
int main(void) { printf("%d\n", deep(20)); return 5; }
END
gcc -g -O0 -o s s.c 2> /dev/null
gdb -q -nx -batch -ex 'break deep if n == 3' -ex run -ex backtrace -ex 'print n' -ex continue ./s 2>&1 | grep -E '^#(0|1|20)|^\$1|exited' | sed 's/0x[0-9a-f]*/ADDRESS/; s/process [0-9]*/process N/'
strace -f -e trace=write -o calls ./s > /dev/null || echo status $?
grep -c write calls; rm s calls
