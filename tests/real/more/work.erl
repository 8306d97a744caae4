%% SPDX-License-Identifier: MIT
%% Thousands of processes, binaries, ets, code compiled at run time.
-module(work).
-export([main/0]).
main() ->
    Self = self(),
    [spawn(fun() -> Self ! {N, byte_size(binary:copy(<<"abc">>, N * 10))} end) || N <- lists:seq(1, 2000)],
    Sum = lists:sum([receive {N, S} -> S end || N <- lists:seq(1, 2000)]),
    T = ets:new(t, [ordered_set]),
    [ets:insert(T, {K * 7919 rem 10007, integer_to_list(K)}) || K <- lists:seq(1, 10000)],
    io:format("~p ~p ~p~n", [Sum, ets:info(T, size), ets:first(T)]),
    io:format("~p~n", [erlang:md5(term_to_binary(lists:sort(ets:tab2list(T))))]),
    init:stop().
