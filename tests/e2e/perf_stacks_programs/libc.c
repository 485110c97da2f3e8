/* Functions of libc that call back, allocate, format and match. */
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double sort_some(unsigned seed)
{
    int v[2000];
    for (size_t i = 0; i < 2000; i++) v[i] = rand_r(&seed);
    qsort(v, 2000, sizeof *v, by_value);
    int *found = bsearch(&v[seed % 2000], v, 2000, sizeof *v, by_value);
    return found ? *found : 0;
}

static double format_some(unsigned seed)
{
    char text[256];
    double sum = 0;
    for (unsigned i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "%d %s %.17g %lx", i, "word", sqrt(seed + i), (long)seed * i);
        sum += strtod(text, NULL) + (double)strlen(text);
    }
    return sum;
}

static double match_some(unsigned seed)
{
    regex_t r;
    char text[64];
    if (regcomp(&r, "([a-z]+[0-9]*|x{2,4})+(foo|bar|[^q]*)$", REG_EXTENDED)) return 0;
    snprintf(text, sizeof text, "abc%ufoo1bar2xxx%u", seed, seed * 7);
    regmatch_t m[4];
    double sum = regexec(&r, text, 4, m, 0) ? 0 : m[0].rm_eo;
    regfree(&r);
    return sum;
}

static double allocate_some(unsigned seed)
{
    void *v[300];
    for (size_t i = 0; i < 300; i++) {
        size_t n = rand_r(&seed) % 3000 + 1;
        v[i] = malloc(n);
        if (v[i]) memset(v[i], (int)i, n);
    }
    for (size_t i = 0; i < 300; i += 2) v[i] = realloc(v[i], 5000);
    for (size_t i = 0; i < 300; i++) free(v[i]);
    return (double)seed;
}

int main(void)
{
    double sum = 0, until = seconds() + 0.8;
    for (unsigned i = 0; seconds() < until; i++)
        sum += sort_some(i) + format_some(i) + match_some(i) + allocate_some(i);
    return printf("%g\n", sum) < 0;
}
