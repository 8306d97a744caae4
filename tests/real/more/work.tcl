# SPDX-License-Identifier: MIT
# Dictionaries, coroutines, regular expressions, a slave interpreter.
for {set i 0} {$i < 20000} {incr i} { dict lappend d key[expr {$i * 7919 % 10007}] [string repeat x [expr {$i % 40}]] }
puts [dict size $d]
coroutine next apply {{} { yield; for {set i 0} {$i < 1000} {incr i} { yield [expr {$i * $i}] } }}
set sum 0
for {set i 0} {$i < 1000} {incr i} { incr sum [next] }
puts $sum
set inner [interp create]
puts [$inner eval {llength [lsort [split [string repeat "b a " 5000]]]}]
interp delete $inner
puts [string length [regsub -all {(\d)\d*} [dict keys $d] {\1}]]
