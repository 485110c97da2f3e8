/* span.h in C++11: a scope ends with its block, also after an exception. */
#include <kiln/span.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace
{

int n_tests = 0;

void ok(bool good, const char *what)
{
    std::printf("%sok %d - %s\n", good ? "" : "not ", ++n_tests, what);
}

unsigned current()
{
    kiln_span_context c = kiln_span_context();
    kiln_span_current(&c);
    const uint8_t *record = reinterpret_cast<const uint8_t *>(c.record);
    return record[24] == 1 ? record[0] : 0;
}

const uint8_t ids[2][16] = {{1, 1, 1}, {2, 2, 2}};

void nested()
{
    kiln::span inner(ids[1], ids[1]);
    ok(current() == 2, "inside");
    throw std::runtime_error("out");
}

} // namespace

int main()
{
    {
        kiln::span outer(ids[0], ids[0], 0);
        ok(current() == 1, "a scope");
        try {
            nested();
        } catch (const std::runtime_error &) {
            ok(current() == 1, "an exception leaves the scope");
        }
        unsigned there = 9;
        std::thread([&] { there = current(); }).join();
        ok(there == 0, "another thread has none");
    }
    ok(current() == 0, "the block is over");
    kiln_span_process p = kiln_span_process();
    p.size = sizeof p;
    p.service_name = "cxx";
    ok(kiln_span_publish(&p) == KILN_SPAN_OK, kiln_span_code_text(KILN_SPAN_OK));
    ok(kiln_span_attr(kiln_span_key("k"), "v", 1), "an attribute");
    std::printf("1..%d\n", n_tests);
}
