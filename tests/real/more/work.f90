! SPDX-License-Identifier: MIT
! Allocatable arrays that grow, strings of deferred length, OpenMP.
program work
  implicit none
  integer, allocatable :: a(:)
  character(len=:), allocatable :: s
  integer :: i, total
  allocate (a(0))
  do i = 1, 2000
    a = [a, i*7919]
  end do
  s = ''
  do i = 1, 2000
    s = s//'x'
  end do
  total = 0
  !$omp parallel do reduction(+:total)
  do i = 1, 64
    block
      real, allocatable :: b(:, :)
      allocate (b(100, i))
      b = real(i)
      total = total + int(sum(b)/100)
    end block
  end do
  print *, size(a), len(s), total, mod(sum(a), 10007)
end program
