/* Checks bytes in memory against the rules of the specification and prints the findings.
 *
 *     cc check_buffer.c $(pkg-config --cflags --libs kiln) -o check_buffer
 *     ./check_buffer */
#include <kiln/kiln.h>

#include <inttypes.h>
#include <stdio.h>

/* The output of a faulty producer: one sample whose stack does not exist. */
static const char payload[] = "{\"dictionary\": {\"stringTable\": [\"\", \"cpu\", \"ns\"]},"
                              " \"resourceProfiles\": [{\"scopeProfiles\": [{\"profiles\": [{"
                              "   \"sampleType\": {\"typeStrindex\": 1, \"unitStrindex\": 2},"
                              "   \"samples\": [{\"stackIndex\": 7, \"values\": [\"10\"]}]}]}]}]}";

static void print_report(const kiln_report *r)
{
    kiln_finding f = {.size = sizeof f};
    for (size_t i = 0; kiln_finding_at(r, i, &f); i++) {
        printf("%s %s: %s (%" PRIu64 "x)\n", kiln_severity_name(f.severity), f.rule, f.title,
               f.count);
        printf("    at     %s", f.path[0] ? f.path : "the message");
        if (f.offset != KILN_NO_OFFSET) printf(" (byte %" PRIu64 ")", f.offset);
        printf("\n    found  %s\n    wanted %s\n", f.found, f.expected);
    }
    printf("%" PRIu64 " errors, %" PRIu64 " warnings\n", kiln_report_count(r, KILN_SEVERITY_ERROR),
           kiln_report_count(r, KILN_SEVERITY_WARNING));
}

int main(void)
{
    kiln_error e;
    kiln_report *r = kiln_check(payload, sizeof payload - 1, NULL, &e);
    if (!r) { /* the check itself failed; invalid bytes give a report */
        char text[600];
        fprintf(stderr, "%s\n", kiln_error_text(&e, text, sizeof text));
        return 1;
    }
    print_report(r);
    kiln_report_free(r);
    return 0;
}
