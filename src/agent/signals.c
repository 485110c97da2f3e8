/* Which signals the capture uses, and how it gives way to the program. */
#include "agent/internal.h"

#include "agent/signo.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

/* The program may have taken a signal that was free when we looked. */
void signals_check(capture *c)
{
    int round = atomic_load(&c->round), event = atomic_load(&c->event);
    int wanted = (int)atomic_load(&c->yield); /* by a call of sigaction, which waits */
    if (round && (round == wanted || !signo_ours(round))) {
        int other;
        do other = signo_free();
        while (other && !signo_take(other));
        if (other || !signo_ours(round)) round = other; /* otherwise both use it: life_share */
    }
    if (event && !signo_ours(event)) event = 0;
    if (round == c->round && event == c->event) return;
    c->n.signal_moved++;
    if (round)
        capture_say(c, &c->said_moved,
                    "the program took the signal that the profiler uses: it has moved to another");
    else
        capture_say(c, &c->said_moved,
                    "the program uses all real-time signals: the profiler has none left for "
                    "timers and the wall clock");
    c->round = round;
    c->event = event;
    cpu_move(round, event);
    if (c->wall) wall_move(c->wall, round);
}
