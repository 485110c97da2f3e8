// heap_known - allocates and frees known amounts in its own functions and prints them, for heap_known.py.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

struct truth {
    long alloc_objects, alloc_space, inuse_objects, inuse_space;

    void took(std::size_t n) { alloc_objects++, alloc_space += long(n), inuse_objects++, inuse_space += long(n); }
    void gave(std::size_t n) { inuse_objects--, inuse_space -= long(n); }
};

struct node {
    node *next;
    char bytes[72];
};

void *volatile sink;
node *list;
const char *between = "";

void tell(const char *name, const truth &t)
{
    std::printf("%s\"%s\": {\"alloc_objects\": %ld, \"alloc_space\": %ld, \"inuse_objects\": %ld, \"inuse_space\": %ld}", between,
                name, t.alloc_objects, t.alloc_space, t.inuse_objects, t.inuse_space);
    between = ",\n ";
}

unsigned state = 1;
std::size_t small()
{
    state = state * 1103515245 + 12345;
    return 16 + (state >> 16) % 240;
}

} // namespace

#define KNOWN extern "C" __attribute__((noinline, used)) void

// Allocates 64 MiB in small blocks and never frees them.
KNOWN known_leak()
{
    truth t{};
    for (std::size_t n; t.alloc_space < 64 << 20; t.took(n)) sink = std::malloc(n = small());
    tell("known_leak", t);
}

// Allocates 64 MiB in small blocks, each freed at once.
KNOWN known_brief()
{
    truth t{};
    for (std::size_t n; t.alloc_space < 64 << 20; t.took(n), t.gave(n)) {
        void *volatile p = std::malloc(n = small());
        std::free(p);
    }
    tell("known_brief", t);
}

// Allocates a list by operator new and deletes every second node.
KNOWN known_new()
{
    truth t{};
    node *odd = nullptr;
    for (int i = 0; i < 800000; i++, t.took(sizeof(node))) {
        node *&head = i % 2 ? odd : list;
        head = new node{head, {}};
    }
    for (node *n; (n = odd); t.gave(sizeof(node))) {
        odd = n->next;
        delete n;
    }
    tell("known_new", t);
}

// Blocks grow by realloc until each is large.
KNOWN known_grow()
{
    truth t{};
    for (int i = 0; i < 400; i++) {
        void *p = nullptr;
        for (std::size_t n = 64, old = 0; n <= 64 << 10; old = n, n *= 2) {
            p = std::realloc(p, n);
            t.took(n);
            if (old) t.gave(old);
        }
        sink = p;
    }
    tell("known_grow", t);
}

// Threads allocate the blocks, and another thread frees them.
KNOWN known_thread(std::vector<void *> *v)
{
    for (int i = 0; i < 100000; i++) v->push_back(std::calloc(1, 200));
}

namespace {

void threads()
{
    truth t{};
    std::vector<void *> v[4];
    std::vector<std::thread> w;
    for (auto &x : v) {
        x.reserve(100000);
        w.emplace_back(known_thread, &x);
    }
    for (auto &x : w) x.join();
    for (auto &x : v)
        for (void *p : x) {
            t.took(200);
            t.gave(200);
            std::free(p);
        }
    tell("known_thread", t);
}

} // namespace

// A child frees the memory that it inherited, and allocates 16 MiB.
KNOWN known_child()
{
    while (node *n = list) {
        list = n->next;
        delete n;
    }
    for (int i = 0; i < 16 << 10; i++) sink = std::malloc(1024);
}

int main()
{
    std::printf("{");
    known_leak();
    known_brief();
    known_new();
    known_grow();
    threads();
    std::fflush(stdout);
    pid_t child = fork();
    if (!child) {
        known_child();
        std::exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    std::printf(",\n \"child\": %d, \"status\": %d}\n", child, status);
    return 0;
}
