# SPDX-License-Identifier: MIT
export HGRCPATH= HGUSER='A <a@example.org>' PYTHONHASHSEED=0
hg init repository; cd repository; cp ../words.txt .
hg commit -q -A -m first -d '0 0'; for i in 1 2 3; do echo $i >> words.txt; hg commit -q -m "change $i" -d "$i 0"; done
hg log --template '{rev} {node} {desc}\n'; hg annotate words.txt | tail -2; hg diff -r 0 -r 3 | cksum; hg clone -q . ../copy; hg -R ../copy verify -q
