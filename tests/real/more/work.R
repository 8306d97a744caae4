# SPDX-License-Identifier: MIT
set.seed(1)
x <- matrix(rnorm(40000), 200)
s <- svd(x)$d
cat(format(round(s[1:3], 6)), "\n")
d <- data.frame(g = rep(letters[1:10], 2000), v = seq_len(20000) %% 997)
print(aggregate(v ~ g, d, mean))
print(coef(lm(v ~ seq_along(v), d)))
w <- vapply(split(d$v, d$g), function(v) paste(sort(v)[1:5], collapse = "-"), "")
print(w)
