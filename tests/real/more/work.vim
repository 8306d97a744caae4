" SPDX-License-Identifier: MIT
edit words.txt
%s/line \(\d\+\)/\1 line/e
sort n
global/7/delete
let d = {}
for i in range(5000) | let d['k' . (i * 7919 % 10007)] = repeat('x', i % 50) | endfor
call append(0, [len(d), string(reduce(range(1, 100), {a, b -> a + b}))])
write! changed.txt
quit!
