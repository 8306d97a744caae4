# SPDX-License-Identifier: MIT
typeset -A seen
for i in {1..3000}; do seen[$((i * 7919 % 10007))]=$i; done
print ${#seen} ${(j:,:)${(on)${(k)seen}}[1,5]}
print -l ${(f)"$(<words.txt)"} | wc -l
for f in *(.N); do print $f:e; done | sort -u
print ${(l:20::-:)$(( 3 ** 4 ))}; ( print $ZSH_SUBSHELL ) ; return 2
