/* A stand-in for the agent, for run_oracle: when the program ends it leaves what the agent would (KILN_FILE, KILN_REPORT),
 * with RUN_STUB_PROFILE as every profile and RUN_STUB_REPORT as the report. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void name_of(const char *pattern, int number, char *out, size_t n)
{
    size_t at = 0;
    for (const char *p = pattern; *p && at + 24 < n; p++) {
        if (*p != '%') {
            out[at++] = *p;
            continue;
        }
        p++;
        if (*p == 'p') at += (size_t)snprintf(out + at, n - at, "%d", getpid());
        if (*p == 'n') at += (size_t)snprintf(out + at, n - at, "%d", number);
        if (*p == '%') out[at++] = '%';
    }
    out[at] = '\0';
}

static void copy(const char *from, const char *to)
{
    char some[1 << 16];
    FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
    for (size_t n; out && (n = fread(some, 1, sizeof some, in)) > 0;) fwrite(some, 1, n, out);
    if (in) fclose(in);
    if (out) fclose(out);
}

__attribute__((destructor)) static void leave(void)
{
    const char *file = getenv("KILN_FILE"), *report = getenv("KILN_REPORT");
    const char *profile = getenv("RUN_STUB_PROFILE"), *text = getenv("RUN_STUB_REPORT");
    const char *number = getenv("RUN_STUB_FILES");
    char path[4096];
    for (int i = 1; file && profile && i <= (number ? (int)strtol(number, NULL, 10) : 1); i++) {
        name_of(file, i, path, sizeof path);
        copy(profile, path);
    }
    if (!report || !text) return;
    name_of(report, 1, path, sizeof path);
    copy(text, path);
}
