# SPDX-License-Identifier: MIT
for i in (seq 300); set -a list (math "$i * 7919 % 10007"); end
echo (count $list) (string join , $list[1..5])
string replace -r 'line (\d+)' '$1' < words.txt | head -3
function f; echo $argv | string upper; end
f a b c; printf '%s\n' $list | sort -n | tail -1
exit 4
