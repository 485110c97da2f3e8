// heap_host_cxx - calls every form of operator new and delete, also when memory is exhausted.  As a module (heap_plugin)
// it loads a C++ runtime into a C program with dlopen.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

struct alignas(256) wide {
    char bytes[512];
};

volatile std::size_t too_much = PTRDIFF_MAX - 4096;
constexpr auto a = std::align_val_t(128);
int handled;

void on_empty()
{
    if (++handled == 3) std::set_new_handler(nullptr);
}

template <class F> void throws(const char *name, F f)
{
    try {
        std::printf("%s: %p\n", name, f());
    } catch (const std::bad_alloc &) {
        std::printf("%s: bad_alloc\n", name);
    }
}

void operators()
{
    void *p[] = {::operator new(10),
                 ::operator new[](20),
                 ::operator new(30, std::nothrow),
                 ::operator new[](40, std::nothrow),
                 ::operator new(50, a),
                 ::operator new[](60, a),
                 ::operator new(70, a, std::nothrow),
                 ::operator new[](80, a, std::nothrow)};
    for (int i = 4; i < 8; i++) std::printf("aligned: %d\n", reinterpret_cast<std::uintptr_t>(p[i]) % 128 == 0);
    ::operator delete(p[0]);
    ::operator delete[](p[1]);
    ::operator delete(p[2], std::nothrow);
    ::operator delete[](p[3], std::nothrow);
    ::operator delete(p[4], a);
    ::operator delete[](p[5], a);
    ::operator delete(p[6], a, std::nothrow);
    ::operator delete[](p[7], a, std::nothrow);
    ::operator delete(::operator new(90), std::size_t(90));
    ::operator delete[](::operator new[](91), std::size_t(91));
    ::operator delete(::operator new(128, a), std::size_t(128), a);
    ::operator delete[](::operator new[](256, a), std::size_t(256), a);
    ::operator delete(::operator new(0));
    ::operator delete(nullptr);
}

void failures()
{
    throws("new", [] { return ::operator new(too_much); });
    throws("new[]", [] { return ::operator new[](too_much); });
    throws("aligned new", [] { return ::operator new(too_much, a); });
    std::printf("nothrow: %d %d\n", ::operator new(too_much, std::nothrow) == nullptr,
                ::operator new(too_much, a, std::nothrow) == nullptr);
    std::set_new_handler(on_empty);
    throws("new with a handler", [] { return ::operator new(too_much); });
    std::printf("handled: %d\n", handled);
}

unsigned library()
{
    std::map<std::string, std::vector<int>> m;
    for (int i = 0; i < 2000; i++) m[std::to_string(i % 300) + " is longer than what fits inside"].push_back(i);
    auto shared = std::make_shared<wide>();
    auto many = std::make_unique<wide[]>(7);
    std::unique_ptr<std::string> moved;
    std::thread([&] { moved = std::make_unique<std::string>(1000, 'x'); }).join();
    unsigned sum = unsigned(moved->size());
    for (auto &e : m) sum = sum * 31 + unsigned(e.second.size()) + unsigned(e.first[0]);
    return sum;
}

} // namespace

extern "C" __attribute__((visibility("default"))) unsigned heap_plugin(void);

extern "C" unsigned heap_plugin(void)
{
    operators();
    failures();
    std::fflush(stdout);
    return library();
}

int main()
{
    std::printf("%u\n", heap_plugin());
    return 0;
}
