# SPDX-License-Identifier: MIT
{ for (i = 1; i <= NF; i++) count[$i]++; text = text $1 }
END { for (w in count) { words++; if (count[w] > most) most = count[w] } print words, most, length(text); n = split(text, part, /5/); print n
	for (i = 1; i <= 30000; i++) line[i] = substr(text, i, i % 80); for (i in line) sum += length(line[i]); print sum; gsub(/e/, "ee", text); print length(text) }
