% SPDX-License-Identifier: MIT
queens(N, Qs) :- numlist(1, N, Ns), permutation(Ns, Qs), safe(Qs).
safe([]). safe([Q|Qs]) :- no_attack(Q, Qs, 1), safe(Qs).
no_attack(_, [], _). no_attack(Q, [Q1|Qs], D) :- Q =\= Q1 + D, Q =\= Q1 - D, D1 is D + 1, no_attack(Q, Qs, D1).
:- dynamic fact/2.
main :- queens(6, Qs), writeln(Qs), forall(between(1, 5000, I), (K is I * 7919 mod 10007, assertz(fact(K, I)))),
	aggregate_all(count, fact(_, _), C), writeln(C), atom_length(abc, L), writeln(L),
	findall(A, (between(1, 2000, I), atom_concat(atom, I, A)), As), length(As, N), writeln(N), halt.
