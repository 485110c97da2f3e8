#include "agent/signo.h"

#include "agent/signal/handler.h"

#include <errno.h>
#include <string.h>
#include "base/ban.h"

static bool install(int sig)
{
    struct sigaction old,
        ours = {.sa_sigaction = handler_run, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    if (sigaction(sig, NULL, &old) != 0 || old.sa_flags & SA_SIGINFO || old.sa_handler != SIG_DFL)
        return false;
    return sigaction(sig, &ours, NULL) == 0;
}

bool signo_ours(int sig)
{
    struct sigaction now;
    return sigaction(sig, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO &&
           now.sa_sigaction == handler_run;
}

int signo_move(void)
{
    for (int sig = SIGRTMAX; sig >= SIGRTMIN; sig--)
        if (install(sig)) return sig;
    return 0;
}

bool signo_open(int *round, int *event, err *e)
{
    *round = signo_move();
    if (!*round)
        return err_set(e, ERR_LIMIT,
                       "the program uses all real-time signals: none is left to sample with");
    *event = install(SIGSTKFLT) ? SIGSTKFLT : 0;
    return true;
}

void signo_drain(int round, int event)
{
    sigset_t ours;
    struct timespec none = {0};
    sigemptyset(&ours);
    if (round) sigaddset(&ours, round);
    if (event) sigaddset(&ours, event);
    while (sigtimedwait(&ours, NULL, &none) > 0 || errno == EINTR) continue;
}
