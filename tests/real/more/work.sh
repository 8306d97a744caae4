# SPDX-License-Identifier: MIT
# Arrays, command substitution, here documents, pipes, jobs, traps: what a shell forks for.
declare -A seen
for i in {1..500}; do seen[$((i * 7919 % 10007))]=$i; done
echo ${#seen[@]}
for i in 1 2 3 4 5; do (echo "part $i" | tr a-z A-Z) & wait $!; done
cat <(sort -r words.txt | head -3) - <<END
$(printf '%s-' {1..20})
END
coproc { while read -r line; do echo "<$line>"; done; }
echo hello >&${COPROC[1]}; read -r answer <&${COPROC[0]}; echo $answer
trap 'echo leaving' EXIT
text=$(head -50 words.txt); echo ${#text} ${text//line/row} | wc -c
exit 3
