# SPDX-License-Identifier: MIT
mkdir from && for i in $(seq 1 200); do head -$i words.txt > from/f$i; done
rsync -a from/ to/; echo more >> from/f1
rsync -a --checksum --stats from/ to/ | grep 'files transferred'
rsync -a -z --delete from/ again/; diff -r from again && echo same
