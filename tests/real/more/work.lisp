;; SPDX-License-Identifier: MIT
(defun collect () (let ((table (make-hash-table))) (dotimes (i 20000) (push i (gethash (mod (* i 7919) 10007) table))) (hash-table-count table)))
(format t "~a~%" (collect))
(format t "~a~%" (length (format nil "~a" (let ((f 1)) (loop for i from 1 to 1000 do (setf f (* f i))) f))))
(let ((p (sb-alien:make-alien sb-alien:int 1000))) (setf (sb-alien:deref p 5) 42) (format t "~a~%" (sb-alien:deref p 5)) (sb-alien:free-alien p))
(sb-ext:gc :full t)
