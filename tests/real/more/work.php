<?php
// SPDX-License-Identifier: MIT
// Arrays, strings, sorting, regular expressions, JSON, generators.
$table = [];
for ($i = 0; $i < 20000; $i++) {
	$table["key" . ($i * 7919 % 10007)][] = str_repeat("x", $i % 50);
}
ksort($table);
echo count($table), " ", strlen(json_encode($table)), "\n";
function squares($n) { for ($i = 0; $i < $n; $i++) yield $i * $i; }
echo array_sum(iterator_to_array(squares(1000))), "\n";
echo strlen(preg_replace_callback('/\d+/', fn($m) => $m[0] * 2, implode(",", array_keys($table)))), "\n";
usort($table, fn($a, $b) => count($b) <=> count($a) ?: strcmp($a[0], $b[0]));
echo count($table[0]), "\n", md5(serialize($table)), "\n";
