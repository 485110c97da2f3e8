/* Computes while a timer delivers signals, so that many samples are taken inside the handler, for
 * bpf_walk.  Exceptions and virtual calls give the stacks some variety. */
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <sys/time.h>
#include <vector>

static volatile uint64_t sink;

static void work(uint64_t n)
{
    uint64_t x = n;
    for (uint64_t i = 0; i < n; i++) x = x * 6364136223846793005u + i;
    sink = sink + x;
}

static void on_signal(int) { work(60000); }

struct shape {
    virtual ~shape() = default;
    virtual uint64_t area(unsigned depth) const = 0;
};

struct square : shape {
    uint64_t area(unsigned depth) const override;
};

struct circle : shape {
    uint64_t area(unsigned depth) const override;
};

static uint64_t next(unsigned depth)
{
    if (depth % 7 == 3) {
        try {
            throw depth;
        } catch (unsigned d) {
            sink = sink + d;
        }
    }
    work(3000);
    if (!depth) return sink;
    std::unique_ptr<shape> s;
    if (depth % 2)
        s = std::make_unique<square>();
    else
        s = std::make_unique<circle>();
    std::vector<uint64_t> v(depth, depth);
    return s->area(depth - 1) + v.back();
}

uint64_t square::area(unsigned depth) const { return next(depth) + 1; }
uint64_t circle::area(unsigned depth) const { return next(depth) * 3; }

int main()
{
    char line[16];
    struct sigaction a = {};
    struct itimerval t = {{0, 1000}, {0, 1000}};
    if (!fgets(line, sizeof line, stdin)) return 1;
    a.sa_handler = on_signal;
    a.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &a, nullptr);
    setitimer(ITIMER_REAL, &t, nullptr);
    for (;;) sink = sink + next(20);
}
