// C++ whose frames have known names, for splunk_rules (S-53 to S-60).  Each function sleeps in the next one; a comment
// "at NAME" marks the line of each call.  Runs until standard input ends.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define STAY() asm volatile("" ::: "memory")

static std::atomic<bool> over, settled; // settled: in helper

// A free function without a namespace.
NOINLINE static void helper()
{
    settled = true;
    while (!over) usleep(20000); // at helper
    STAY();
}

namespace
{
NOINLINE void hidden()
{
    helper(); // at hidden
    STAY();
}
} // namespace

namespace app
{
namespace
{
NOINLINE void secret()
{
    hidden(); // at secret
    STAY();
}
} // namespace

// A function of a namespace.
NOINLINE void open_file(const std::string &name)
{
    if (!name.empty()) secret(); // at open_file
    STAY();
}

namespace net
{
class Conn
{
  public:
    NOINLINE int read(const std::vector<int> &v, std::string s)
    {
        app::open_file(s); // at read
        STAY();
        return static_cast<int>(v.size());
    }
    NOINLINE static void accept()
    {
        Conn c;
        c.read({1, 2}, "x"); // at accept
        STAY();
    }
    NOINLINE void operator()(int n)
    {
        if (n) accept(); // at operator()
        STAY();
    }
};
} // namespace net

template <typename T, int N> struct Box {
    T value;
    NOINLINE void get()
    {
        value(N); // at get
        STAY();
    }
};

struct Outer {
    struct Inner {
        NOINLINE explicit Inner(int n)
        {
            Box<net::Conn, 3> b;
            if (n) b.get(); // at Inner
            STAY();
        }
    };
    NOINLINE ~Outer()
    {
        Inner i(1); // at ~Outer
        STAY();
    }
};
} // namespace app

// A lambda inside a std::function.
NOINLINE static void run_lambda()
{
    std::function<void(int)> f = [](int n) {
        if (n) app::Outer(); // at lambda
        STAY();
    };
    f(7); // at run_lambda
    STAY();
}

int main()
{
    std::thread t(run_lambda);
    while (!settled) usleep(1000);
    std::printf("ready %d\n", static_cast<int>(getpid()));
    std::fflush(stdout);
    char c;
    while (read(0, &c, 1) != 0) continue;
    over = true;
    t.detach();
    std::printf("done\n");
    std::fflush(stdout);
    return 0;
}
