// tests/torture/cxx.cc - torture_cxx: exceptions out of deep frames, in many threads, while being sampled.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct guard {
    explicit guard(unsigned &n) : n_(n) {}
    ~guard() { n_++; }
    unsigned &n_;
};

__attribute__((noinline)) static unsigned deep(unsigned n, unsigned &undone)
{
    guard g(undone);
    std::string s(n % 40, 'x');
    if (n == 0) throw std::runtime_error("deep");
    return deep(n - 1, undone) + static_cast<unsigned>(s.size());
}

static unsigned throws(unsigned rounds)
{
    unsigned caught = 0, undone = 0;
    for (unsigned i = 0; i < rounds; i++) {
        try {
            deep(i % 60, undone);
        } catch (const std::runtime_error &e) {
            caught++;
        }
        try {
            std::vector<int> v(10);
            v.at(i + 10) = 1;
        } catch (const std::out_of_range &) {
            caught++;
        }
    }
    return caught + undone;
}

int main(int argc, char **argv)
{
    const unsigned long long seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const unsigned rounds = 500 + static_cast<unsigned>(seed % 100);
    std::vector<std::thread> threads;
    std::vector<unsigned> sums(4);
    for (unsigned k = 0; k < 4; k++) threads.emplace_back([&sums, k, rounds] { sums[k] = throws(rounds + k); });
    for (auto &t : threads) t.join();
    unsigned total = throws(rounds);
    for (unsigned s : sums) total += s;
    std::printf("%u\n", total);
    if (seed % 2) throw std::runtime_error("nobody catches this"); // std::terminate, abort
    return 13;
}
