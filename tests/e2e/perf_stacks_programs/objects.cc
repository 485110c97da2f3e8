// Virtual calls, exceptions, std::sort with a lambda, std::map, std::function and strings.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct shape {
    virtual ~shape() = default;
    virtual double area(int depth) const = 0;
};
struct leaf : shape {
    double area(int depth) const override
    {
        if (depth % 97 == 0) throw std::runtime_error("leaf " + std::to_string(depth));
        double a = depth;
        for (int i = 1; i < 400; i++) a += 1.0 / (a + i);
        return a;
    }
};
struct node : shape {
    std::vector<std::unique_ptr<shape>> inside;
    double area(int depth) const override
    {
        double sum = 0;
        for (const auto &s : inside) sum += s->area(depth + 1);
        return sum;
    }
};

static std::unique_ptr<shape> tree(int height)
{
    if (!height) return std::make_unique<leaf>();
    auto n = std::make_unique<node>();
    for (int i = 0; i < 2; i++) n->inside.push_back(tree(height - 1));
    return n;
}

int main()
{
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(800);
    auto root = tree(6);
    std::map<std::string, double> names;
    std::function<double(int)> area = [&](int i) { return root->area(i); };
    double sum = 0;
    for (int i = 1; std::chrono::steady_clock::now() < until; i++) {
        try {
            sum += area(i);
        } catch (const std::exception &e) {
            names[e.what()] += sum;
        }
        std::vector<std::string> v;
        for (int k = 0; k < 400; k++) v.push_back(std::to_string(k * 7919 % 1009));
        std::sort(v.begin(), v.end(), [](const std::string &a, const std::string &b) {
            return a.size() != b.size() ? a.size() < b.size() : a < b;
        });
        names[v[(size_t)i % v.size()]] += sum;
    }
    std::printf("%f %zu\n", sum, names.size());
}
