# SPDX-License-Identifier: MIT
# A display of its own number without the network, and four clients.
display=:$((PORT % 900 + 100))
Xvfb $display -screen 0 640x480x24 -nolisten tcp -noreset > xvfb.log 2>&1 & process=$!
export DISPLAY=$display
until xdpyinfo > /dev/null 2>&1; do sleep .1; done
xdpyinfo | grep -E 'dimensions|depth of root|number of screens'
xlsfonts | head -3
timeout 1 xlogo > /dev/null 2>&1 || echo status $?
xwininfo -root | grep -E 'Width|Height'
kill $process; wait $process || echo status $?
