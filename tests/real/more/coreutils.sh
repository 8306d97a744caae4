# SPDX-License-Identifier: MIT
# Threads of sort, many small images, pipes.
sort --parallel=4 -S 1M -k2,2n -k1 words.txt | cksum
for i in $(seq 1 20); do wc -l < words.txt; done | sort | uniq -c
find . -name '*.txt' -print0 | xargs -0 -P 2 -n 1 sha256sum | sort
split -l 3000 words.txt piece.; paste piece.* | fold -w 30 | tac | cksum
iconv -f UTF-8 -t UTF-16 words.txt | od -A n -t x1 | cksum; seq 1 3000 | factor | cksum; ls -lR /usr/share/doc/git 2> /dev/null | wc -l > /dev/null
