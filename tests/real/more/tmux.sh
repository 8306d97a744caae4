# SPDX-License-Identifier: MIT
# A server that outlives the client that started it, and two panes on pseudo-terminals.
export TERM=screen
tmux -L s$PORT -f /dev/null new-session -d -x 80 -y 24 'read word; seq 1 5; echo "done$((6*7)) $word"; sleep 60'
tmux -L s$PORT send-keys hello Enter
until tmux -L s$PORT capture-pane -p | grep -q done42; do sleep .1; done
tmux -L s$PORT capture-pane -p | sed -n '/^1$/,/^done42/p'
tmux -L s$PORT split-window -d 'echo split > split.txt'
until test -s split.txt; do sleep .1; done
tmux -L s$PORT kill-server
