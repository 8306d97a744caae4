# SPDX-License-Identifier: MIT
set terminal svg size 600,400
set output "plot.svg"
set samples 500
plot sin(x) title "sin", cos(x) with linespoints, "table.csv" using 1:2 with points
set terminal dumb 60 20
set output
plot [0:6] sin(x)
stats "table.csv" using 2
