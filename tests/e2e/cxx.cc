/* The public header is C++ too, links as C, and stands alone. */
#include <kiln/kiln.h>

#include <cstdio>

int main()
{
    std::puts("1..1\nok 1 - kiln.h compiles and links as C++11");
    return 0;
}
