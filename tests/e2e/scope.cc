// Functions that other units cannot reference, for scope_oracle.  GCC writes no linkage name for them, so only the
// enclosing DIEs give their scope.  With -O2 all but main are inlined; with -O0 all are in the symbol table.
volatile long sink;

#define WORK(k) for (long i = 0; i < 1000; i++) sink = sink * (k) + i

namespace app {
struct Outer {
    struct {
        void in() { WORK(2); }
    } unnamed;
};

namespace v1 {
inline namespace abi {
static inline void inner() { WORK(3); }
}
}

static void run(int n)
{
    if (n > 3) { // in DWARF this block comes after the code that follows it here
        auto first = [&](int k) { WORK(5 + k); };
        first(n);
    }
    auto second = [&] {
        auto nested = [=](int k) { WORK(n + k); };
        nested(3);
        WORK(7);
    };
    second();
    struct Local {
        static void go() { WORK(11); }
    };
    Local::go();
}

namespace {
template <class T>
struct Box {
    void put(T) { WORK(13); }
    template <class U>
    void convert(U) { WORK(17); }
};
template <class T>
void take(T) { WORK(19); }
template <class T>
bool operator<(const Box<T> &, int) { WORK(23); return sink != 0; }
struct Sum {
    Sum() { WORK(29); }
    ~Sum() { WORK(31); }
    Sum &operator+(int) { WORK(37); return *this; }
    operator bool() { WORK(41); return sink != 0; }
    struct Later;
};
struct Sum::Later { // defined outside of the class that declares it
    void late() { WORK(43); }
};
union Either {
    int x;
    void pick() { WORK(47); }
};
}
}

static void plain() { WORK(53); }

namespace c_side {
extern "C" {
inline void c_linkage() { WORK(59); }
}
}

int main(int n, char **)
{
    app::Outer o;
    o.unnamed.in();
    app::v1::inner();
    app::run(n);
    app::Box<int> b;
    b.put(3);
    b.convert('c');
    app::take(2L);
    sink = sink + (b < 3);
    app::Sum s;
    if (s + 3) plain();
    app::Sum::Later().late();
    app::Either e;
    e.pick();
    c_side::c_linkage();
    auto generic = [](auto x) { WORK(61 + (long)x); };
    generic(3);
    generic(3.0);
}
