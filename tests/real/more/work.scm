;; SPDX-License-Identifier: MIT
(define table (make-hash-table))
(do ((i 0 (+ i 1))) ((= i 20000)) (hash-set! table (modulo (* i 7919) 10007) (make-string (modulo i 50) #\x)))
(display (hash-count (const #t) table)) (newline)
(define (fact n) (if (< n 2) 1 (* n (fact (- n 1)))))
(display (string-length (number->string (fact 1000)))) (newline)
(display (call/cc (lambda (k) (for-each (lambda (x) (if (> x 100) (k x))) (iota 1000)) 'none))) (newline)
(gc)
(display (apply + (map string-length (hash-map->list (lambda (k v) v) table)))) (newline)
