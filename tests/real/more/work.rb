# SPDX-License-Identifier: MIT
# Hashes, strings, regular expressions, a fiber, threads, a full collection.
words = (0...20_000).map { |i| "word#{i * 7919 % 10_007}" }
count = words.tally
puts count.size, count.max_by { |key, number| [number, key] }.inspect
fiber = Fiber.new { 5.times { |i| Fiber.yield((0..1000).map { |j| j * i }.sum) }; nil }
5.times { puts fiber.resume }
puts (0...4).map { |n| Thread.new { words.select { |w| w.end_with?(n.to_s) }.size } }.map(&:value).inspect
puts words.join(" ").gsub(/word(\d)/, 'w\1').size
GC.start
puts (1..300).inject(:*).to_s.size
