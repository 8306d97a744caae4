;; SPDX-License-Identifier: MIT
(let ((table (make-hash-table :test 'equal)))
  (dotimes (i 10000) (puthash (format "k%d" (mod (* i 7919) 10007)) (make-string (mod i 50) ?x) table))
  (princ (format "%d\n" (hash-table-count table)))
  (with-temp-buffer
    (insert-file-contents "words.txt")
    (sort-lines nil (point-min) (point-max))
    (goto-char (point-min))
    (while (re-search-forward "line \\([0-9]+\\)" nil t) (replace-match "row \\1"))
    (princ (format "%d %s\n" (buffer-size) (md5 (current-buffer))))
    (write-region nil nil "sorted.txt" nil 'silent))
  (garbage-collect)
  (princ (json-encode '(:a [1 2 3] :b "c"))))
