# SPDX-License-Identifier: MIT
export SCREENDIR=$PWD/sockets; mkdir -m 700 sockets
screen -c /dev/null -dmS s$PORT sh -c 'seq 1 200; read word; echo got $word > said.txt'
until screen -S s$PORT -Q windows > /dev/null 2>&1; do sleep .1; done
screen -S s$PORT -X stuff 'hello\n'
until test -s said.txt; do sleep .1; done
cat said.txt
screen -S s$PORT -X quit > /dev/null 2>&1 || true
