/* Chooses the signals of the capture, and switches to others when the program handles one. */
#include "agent/internal.h"

#include "agent/signo.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

/* Checks for handlers that the program has installed since signo_free. */
void signals_check(capture *c)
{
    int round = atomic_load(&c->round), event = atomic_load(&c->event);
    int wanted = (int)atomic_load(&c->yield); /* requested by a call of sigaction, which waits */
    if (round && (round == wanted || !signo_ours(round))) {
        int other;
        do other = signo_free();
        while (other && !signo_take(other));
        if (other || !signo_ours(round))
            round = other; /* otherwise program and capture share it: lifecycle_share_signal */
    }
    if (event && !signo_ours(event)) event = 0;
    if (round == c->round && event == c->event) return;
    c->n.signal_moved++;
    if (round)
        capture_warn(c, &c->warned_moved,
                     "the program handles the signal that the profiler used: the profiler has "
                     "switched to another signal");
    else
        capture_warn(c, &c->warned_moved,
                     "the program uses all real-time signals: none is left for CPU timers and "
                     "wall-clock samples");
    c->round = round;
    c->event = event;
    cpu_move(round, event);
    if (c->wall) wall_move(c->wall, round);
}
