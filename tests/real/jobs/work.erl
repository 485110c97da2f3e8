-module(work).
-export([main/0]).

work(0, S) -> S;
work(N, S) -> work(N - 1, (S * 31 + N) rem 1000003).

lasted(Ms, F) ->
    Start = erlang:monotonic_time(millisecond),
    F(),
    erlang:monotonic_time(millisecond) - Start >= Ms.

main() ->
    Me = self(),
    [spawn(fun() -> Me ! {K, work(6000000 + K, 0)} end) || K <- lists:seq(1, 4)],
    Sums = [receive {K, S} -> S end || K <- lists:seq(1, 4)],
    Waits = [lasted(300, fun() -> timer:sleep(300) end),
             lasted(300, fun() -> receive never -> ok after 300 -> ok end end)],
    io:format("~p ~p~n", [Sums, Waits]),
    halt(3).
