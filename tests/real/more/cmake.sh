# SPDX-License-Identifier: MIT
cat > CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.18)
project(small C)
add_library(parts STATIC part0.c part1.c part2.c part3.c part4.c part5.c part6.c part7.c)
add_executable(program main.c)
target_link_libraries(program parts)
END
cmake -G Ninja -S . -B out > log 2>&1 || cat log
ninja -C out --quiet -j2
out/program
rm -r out log
