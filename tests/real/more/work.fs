\ SPDX-License-Identifier: MIT
: work 1000 0 do i 100 + allocate throw dup i swap ! dup @ i <> if ." bad" then i 200 + resize throw free throw loop ;
: show 200 0 do i . loop cr ;
work show bye
