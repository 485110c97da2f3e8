// Enough templates for a second of a compiler.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

template <int N> struct fib { static constexpr long value = fib<N - 1>::value + fib<N - 2>::value; };
template <> struct fib<1> { static constexpr long value = 1; };
template <> struct fib<0> { static constexpr long value = 0; };

int main(int argc, char **argv)
{
    std::map<std::string, std::vector<std::shared_ptr<std::string>>> m;
    for (int i = 0; i < argc; i++) m[argv[i]].push_back(std::make_shared<std::string>(argv[i]));
    std::vector<std::function<long(long)>> f;
    for (auto &[k, v] : m)
        if (k.size() > 3) f.emplace_back([n = (long)v.size()](long x) { return x * n; });
    std::sort(f.begin(), f.end(), [](auto &a, auto &b) { return a(1) < b(1); });
    std::cout << fib<60>::value << ' ' << f.size() << '\n';
}
