/* Threads that wait in different calls at known depths, for agent_waits, which compares their
 * stacks in the profile with gdb's.  Ends at the end of its input. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
/* prevents the call before it from becoming a jump */
#define STAY() __asm__ volatile("" ::: "memory")

static int pipe_fds[2], sockets[2], listener, queue, semaphores;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static pthread_t first;

static void wait_poll(void) { poll(NULL, 0, -1); }
static void wait_poll_timeout(void) { poll(NULL, 0, 1000000); }
static void wait_cond(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&cond, &lock);
}
static void wait_mutex(void) { pthread_mutex_lock(&held); }
static void wait_rwlock(void) { pthread_rwlock_wrlock(&written); }
static void wait_barrier(void) { pthread_barrier_wait(&barrier); }
static void wait_join(void) { pthread_join(first, NULL); }
static void wait_read(void)
{
    char c;
    if (read(pipe_fds[0], &c, 1) < 0) exit(2);
}
static void wait_recv(void)
{
    char c;
    recv(sockets[0], &c, 1, 0);
}
static void wait_sleep(void) { sleep(1000000); }
static void wait_nanosleep(void)
{
    struct timespec t = {1000000, 0};
    nanosleep(&t, NULL);
}
static void wait_epoll(void)
{
    struct epoll_event e;
    epoll_wait(epoll_create1(0), &e, 1, -1);
}
static void wait_accept(void) { accept(listener, NULL, NULL); }
static void wait_sem(void) { sem_wait(&semaphore); }
static void wait_select(void)
{
    fd_set in;
    FD_ZERO(&in);
    FD_SET(pipe_fds[0], &in);
    select(pipe_fds[0] + 1, &in, NULL, NULL, NULL);
}
static void wait_sigwait(void)
{
    sigset_t s;
    int sig;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &s, NULL);
    sigwait(&s, &sig);
}
static void wait_msgrcv(void)
{
    char m[64];
    msgrcv(queue, m, 8, 0, 0);
}
static void wait_semop(void)
{
    struct sembuf down = {0, -1, 0};
    semop(semaphores, &down, 1);
}
static void wait_stdio(void)
{
    char line[16];
    FILE *f = fdopen(dup(pipe_fds[0]), "r");
    if (!fgets(line, sizeof line, f)) exit(2);
}

typedef void (*waiter)(void);
static const struct {
    const char *name;
    waiter wait;
} waits[] = {
    {"poll", wait_poll},      {"poll_timeout", wait_poll_timeout},
    {"cond", wait_cond},      {"mutex", wait_mutex},
    {"rwlock", wait_rwlock},  {"barrier", wait_barrier},
    {"join", wait_join},      {"read", wait_read},
    {"recv", wait_recv},      {"sleep", wait_sleep},
    {"nano", wait_nanosleep}, {"epoll", wait_epoll},
    {"accept", wait_accept},  {"sem", wait_sem},
    {"select", wait_select},  {"sigwait", wait_sigwait},
    {"msgrcv", wait_msgrcv},  {"semop", wait_semop},
    {"stdio", wait_stdio},
};
enum { WAITS = sizeof waits / sizeof *waits };

static volatile int sink;

/* Frames of different sizes, one with a variable-length array. */
NOINLINE static void level_1(waiter w, int n)
{
    char room[48];
    memset(room, n, sizeof room);
    sink += room[n % 48];
    w();
    STAY();
    sink += room[(n + 1) % 48];
}
NOINLINE static void level_2(waiter w, int n)
{
    char *room = __builtin_alloca((size_t)(100 + n));
    memset(room, n, (size_t)(100 + n));
    sink += room[n];
    level_1(w, n);
    STAY();
    sink += room[n + 1];
}
NOINLINE static int level_n(waiter w, int n, int depth)
{
    int r = depth ? level_n(w, n + 1, depth - 1) + depth : (level_2(w, n), n);
    STAY();
    return r + n;
}

static void *run(void *arg)
{
    long i = (long)arg;
    prctl(PR_SET_NAME, waits[i].name);
    sink += level_n(waits[i].wait, (int)i, (int)i % 7);
    return NULL;
}

/* With an argument, the process is not dumpable, like one that has changed its user. */
int main(int argc, char **argv)
{
    char c;
    (void)argv;
    prctl(PR_SET_DUMPABLE, argc == 1);
    struct sockaddr_storage none;
    memset(&none, 0, sizeof none);
    first = pthread_self();
    sem_init(&semaphore, 0, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_mutex_lock(&held);
    pthread_rwlock_rdlock(&written);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    queue = msgget(IPC_PRIVATE, 0600);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    if (pipe(pipe_fds) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) || listen(listener, 4))
        return 2;
    for (long i = 0; i < WAITS; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, run, (void *)i)) return 2;
    }
    printf("ready %d\n", WAITS);
    fflush(stdout);
    while (read(0, &c, 1) > 0) continue;
    msgctl(queue, IPC_RMID, NULL);
    semctl(semaphores, 0, IPC_RMID);
    exit(0);
}
