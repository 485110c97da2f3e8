// All kinds of inlined calls, for symbol_oracle: templates, lambdas, virtual functions, loops,
// exceptions (cold parts), the standard library.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace app {
namespace {
template <typename T>
struct box {
    T v;
    explicit box(T x) : v(x) {}
    T get() const { return v * 3; }
};
inline int leaf(int x) { return (x ^ 0x55) * 7; }
inline int middle(int x)
{
    int s = 0;
    for (int i = 0; i < x; i++) s += leaf(i);
    return s;
}
__attribute__((noinline)) int outer(int x) { return middle(x) + box<int>(x).get(); }
struct shape {
    virtual ~shape() {}
    virtual double area() const = 0;
};
struct circle : shape {
    double r;
    explicit circle(double x) : r(x) {}
    double area() const override { return r * r * 3.14; }
};
struct square : shape {
    double s;
    explicit square(double x) : s(x) {}
    double area() const override { return s * s; }
};
}  // namespace
std::map<std::string, int> count(const std::vector<std::string> &v)
{
    std::map<std::string, int> m;
    for (auto &s : v) m[s]++;
    return m;
}
}  // namespace app

int main(int argc, char **argv)
{
    std::vector<std::string> v;
    int n = argc > 1 ? atoi(argv[1]) : 100;
    for (int i = 0; i < n; i++) v.push_back(std::to_string(app::outer(i % 1000) % 97));
    std::sort(v.begin(), v.end(), [](const std::string &a, const std::string &b) { return a > b; });
    std::vector<std::unique_ptr<app::shape>> s;
    for (int i = 0; i < 10; i++)
        if (i & 1)
            s.emplace_back(new app::circle(i));
        else
            s.emplace_back(new app::square(i));
    double t = 0;
    for (auto &p : s) t += p->area();
    try {
        if (argc > 5) throw std::runtime_error("x");
    } catch (std::exception &e) {
        puts(e.what());
    }
    printf("%zu %f\n", app::count(v).size(), t);
}
