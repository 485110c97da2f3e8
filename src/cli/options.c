#include "cli/options.h"

#include "cli/cli.h"
#include "format/format.h"
#include "base/ban.h"

/* ---- the table ---- */

#define IN(c) (1u << COMMAND_##c)
#define ALL ((1u << COMMAND_COUNT) - 1)
/* Those that ask about a selection of samples (cli/question.h). */
#define ASKERS                                                                                     \
    (IN(TOP) | IN(TREE) | IN(PEEK) | IN(LIST) | IN(TRACES) | IN(DIFF) | IN(SERIES) | IN(FLAME))
#define GRAPHS (IN(TOP) | IN(TREE) | IN(PEEK) | IN(DIFF))
#define READERS                                                                                    \
    (IN(INFO) | IN(CAT) | IN(CONVERT) | IN(CHECK) | IN(MERGE) | IN(SYMBOLIZE) | IN(SEND) | ASKERS)
#define AT(field) offsetof(cli_options, field)

#define LAYOUTS "1.3 1.4 1.5 1.6 1.7 1.8 1.9 1.10 1.11 current"

static const option_desc all_options[] = {
    {"json", 0, OPTION_FLAG, AT(json), IN(INFO), NULL, NULL,
     "Print JSON for machines: a stable, versioned form (docs/info.md)."},
    {"json", 0, OPTION_FLAG, AT(json), IN(CHECK), NULL, NULL,
     "Print the findings as JSON (docs/check.md)."},
    {"json", 0, OPTION_FLAG, AT(json), IN(CONVERT) | IN(MERGE), NULL, NULL,
     "Print the loss ledger as JSON on standard output."},
    {"json", 0, OPTION_FLAG, AT(json), ASKERS, NULL, NULL,
     "Print JSON for machines: a stable, versioned form (docs/query.md)."},
    {"format", 'f', OPTION_CHOICE, AT(format), IN(CAT), "FORM", "yaml json text arrays-yaml",
     "How to print: yaml (default, for reading), json (OTLP/JSON), text (protobuf text format, "
     "as protoc --decode prints it), arrays-yaml (any format, in the first draft's own shape)."},
    {"output", 'o', OPTION_PATH, AT(output),
     IN(CONVERT) | IN(CHECK) | IN(MERGE) | IN(FLAME) | IN(SERIES) | IN(SYMBOLIZE), "FILE", NULL,
     "Where to write; - is standard output. The file appears whole or not at all."},
    {"json", 0, OPTION_FLAG, AT(json), IN(FORMATS), NULL, NULL,
     "Print the table as JSON (docs/formats.md)."},
    {"json", 0, OPTION_FLAG, AT(json), IN(SYMBOLIZE), NULL, NULL,
     "Print what was found, binary by binary, as JSON on standard output (docs/symbolize.md)."},
    {"json", 0, OPTION_FLAG, AT(json), IN(CTX), NULL, NULL,
     "Print JSON for machines: a stable, versioned form (docs/ctx.md)."},
    {"no-threads", 0, OPTION_FLAG, AT(no_threads), IN(CTX), NULL, NULL,
     "Read the process context only; no thread is stopped."},
    {"from", 0, OPTION_READS, AT(from), READERS, "FORMAT", NULL,
     "Read the input as this format instead of looking at its bytes (kiln formats)."},
    {"to", 't', OPTION_WRITES, AT(to), IN(CONVERT) | IN(MERGE) | IN(SYMBOLIZE), "FORMAT", NULL,
     "Write this format instead of the one the output's name suggests. original gives back the "
     "file that --keep-original kept."},
    {"to", 't', OPTION_CHOICE, AT(to), IN(FLAME), "PICTURE", "svg html",
     "Which picture to write, instead of the one the output's name suggests."},
    {"to", 't', OPTION_CHOICE, AT(to), IN(SERIES), "PICTURE", "svg",
     "Which picture to write, instead of the one the output's name suggests."},
    {"diff", 'd', OPTION_PATH, AT(diff), IN(FLAME), "BASE", NULL,
     "Compare with this profile: what grew since BASE and what shrank."},
    {"layout", 0, OPTION_CHOICE, AT(layout), READERS, "RELEASE", LAYOUTS,
     "Read OTLP in the layout of this opentelemetry-proto release instead of finding it out."},
    {"canonical", 0, OPTION_FLAG, AT(canonical), IN(CONVERT) | IN(MERGE), NULL, NULL,
     "Re-encode in canonical form: no duplicates, no unused entries, stacks sorted from the "
     "root, samples by stack. Smaller after compression."},
    {"string-refs", 0, OPTION_FLAG, AT(string_refs), IN(CONVERT), NULL, NULL,
     "Write resource and scope strings as references into the string table (OTLP 1.10; many "
     "receivers cannot read them)."},
    {"split", 0, OPTION_FLAG, AT(split), IN(CONVERT), NULL, NULL,
     "Keep the profiles of several inputs apart instead of merging them; with an output that ends "
     "in / every input gets a file of its own there."},
    {"profile-id", 0, OPTION_TEXT, AT(profile_id), IN(CONVERT), "HEX", NULL,
     "Id for a profile that has none: 32 hex digits. Further profiles get the ids that follow."},
    {"start", 0, OPTION_TEXT, AT(start), IN(CONVERT), "TIME", NULL,
     "Begin of profiles that do not say it: 2023-06-27T04:52:00Z, or a Unix time in s, ms, us or "
     "ns."},
    {"end", 0, OPTION_TEXT, AT(end), IN(CONVERT), "TIME", NULL,
     "End of profiles that do not say their duration."},
    {"schema-url", 0, OPTION_TEXT, AT(schema_url), IN(CONVERT), "URL", NULL,
     "Schema of resources that do not say theirs."},
    {"sample-type", 0, OPTION_TEXT, AT(sample_type), IN(CONVERT), "TYPE/UNIT", NULL,
     "What the values are, where the source does not say: cpu/nanoseconds, samples/count."},
    {"time-anchor", 0, OPTION_TEXT, AT(time_anchor), IN(CONVERT), "TIME", NULL,
     "When the recording began, for sources whose clock does not count from 1970."},
    {"time-anchor", 0, OPTION_TEXT, AT(time_anchor), IN(SEND) | IN(STORE), "TIME", NULL,
     "When the recording began, for sources whose clock does not count from 1970. Otherwise the "
     "date in the file, or else the time at which the file was last written as the time of the "
     "last sample (store: import)."},
    {"keep-original", 0, OPTION_TIMES, AT(keep_original), IN(CONVERT), NULL, NULL,
     "Put the input itself into the profile. pprof files are kept only when the option is given "
     "twice: the specification advises against it, because the profile holds all of them."},
    {"no-extras", 0, OPTION_FLAG, AT(no_extras), IN(CONVERT), NULL, NULL,
     "Leave out the attributes named kiln.*, which carry what OTLP has no field for."},
    {"timestamps", 0, OPTION_FLAG, AT(timestamps), IN(CONVERT), NULL, NULL,
     "pprof: a sample for each timestamp, with a label, instead of their sum."},
    {"thread-frames", 0, OPTION_FLAG, AT(thread_frames), IN(CONVERT), NULL, NULL,
     "folded, collapsed: begin every stack with its thread."},
    {"percent", 0, OPTION_FLAG, AT(percent), IN(CONVERT), NULL, NULL,
     "folded, collapsed: percent-encode what a name may not hold, and decode it on reading."},
    {"strict", 0, OPTION_FLAG, AT(strict), IN(CONVERT) | IN(MERGE), NULL, NULL,
     "Write nothing and exit with 1 when anything would be lost."},
    {"debug-dir", 0, OPTION_LIST, AT(debug_dir), IN(SYMBOLIZE) | IN(RUN) | IN(STORE) | ASKERS,
     "DIR", NULL,
     "Look for binaries and debug files here before /usr/lib/debug: by build id "
     "(DIR/.build-id), by path and by name. May be repeated."},
    {"demangle", 0, OPTION_CHOICE, AT(demangle), IN(SYMBOLIZE), "HOW", "short full none",
     "Names of C++ and Rust: short (default) leaves out template arguments and parameters."},
    {"kallsyms", 0, OPTION_PATH, AT(kallsyms), IN(SYMBOLIZE) | ASKERS, "FILE", NULL,
     "Names of the kernel that ran, in the form of /proc/kallsyms; without it that file itself, "
     "when the profile is of the running kernel."},
    {"perf-map", 0, OPTION_PATH, AT(perf_map), IN(SYMBOLIZE), "FILE", NULL,
     "Names of code made at run time (default /tmp/perf-PID.map)."},
    {"perf-map", 0, OPTION_PATH, AT(perf_map), ASKERS, "FILE", NULL,
     "Names of code made at run time, such as /tmp/perf-PID.map."},
    {"no-symbolize", 0, OPTION_FLAG, AT(no_symbolize), ASKERS, NULL, NULL,
     "Show addresses without names as they are, instead of looking them up in the binaries of this "
     "machine by their build ids."},
    {"symbolize-timeout", 0, OPTION_TEXT, AT(symbolize_timeout), ASKERS, "TIME", NULL,
     "How long that may take (default 10s)."},
    {"force", 0, OPTION_FLAG, AT(force), IN(SYMBOLIZE), NULL, NULL,
     "Look up addresses that have names, too."},
    {"no-cache", 0, OPTION_FLAG, AT(no_cache), IN(SYMBOLIZE) | ASKERS, NULL, NULL,
     "Neither read nor write indexes below XDG_CACHE_HOME."},
    {"cache-size", 0, OPTION_SIZE, AT(cache_size), IN(SYMBOLIZE), "SIZE", NULL,
     "Most bytes of indexes to keep (default 1GiB)."},
    {"strict", 0, OPTION_FLAG, AT(strict), IN(SYMBOLIZE), NULL, NULL,
     "Write nothing and exit with 1 when an address is left without a name."},
    {"to", 't', OPTION_TEXT, AT(address), IN(SEND), "URL", NULL,
     "Where to: http://HOST:PORT, https://HOST:PORT, or HOST. Port 4317 means gRPC, others HTTP. "
     "Without it OTEL_EXPORTER_OTLP_ENDPOINT and its kin decide."},
    {"as", 0, OPTION_CHOICE, AT(signal), IN(SEND), "SIGNAL", "profiles logs",
     "Send OTLP profiles (default), or log records as Splunk's agents send them."},
    {"protocol", 0, OPTION_CHOICE, AT(protocol), IN(SEND) | IN(RUN), "PROTOCOL",
     "grpc http/protobuf", "How to talk, where the port does not say it."},
    {"compression", 0, OPTION_CHOICE, AT(compression), IN(SEND), "HOW", "none gzip zstd",
     "Compress requests."},
    {"header", 0, OPTION_EACH, AT(headers), IN(SEND), "NAME=VALUE", NULL,
     "Send this header too. May be repeated."},
    {"timeout", 0, OPTION_TEXT, AT(timeout), IN(SEND), "TIME", NULL,
     "How long one attempt may take (default 10s)."},
    {"wait", 0, OPTION_TEXT, AT(wait), IN(SEND), "TIME", NULL,
     "How long to go on trying when the receiver is down or busy (default 10s)."},
    {"ca", 0, OPTION_PATH, AT(ca), IN(SEND), "FILE", NULL,
     "Trust certificates signed by these (PEM), instead of the machine's list."},
    {"cert", 0, OPTION_PATH, AT(cert), IN(SEND), "FILE", NULL, "Our own certificate (PEM)."},
    {"key", 0, OPTION_PATH, AT(key), IN(SEND), "FILE", NULL,
     "The key of our own certificate (default: in the file of --cert)."},
    {"spool", 0, OPTION_PATH, AT(spool), IN(SEND), "DIR", NULL,
     "Keep what could not be delivered here; the next send with it delivers that first."},
    {"spool-size", 0, OPTION_SIZE, AT(spool_size), IN(SEND), "SIZE", NULL,
     "Most bytes to keep there (default 256MiB); the oldest go first."},
    {"json", 0, OPTION_FLAG, AT(json), IN(SEND), NULL, NULL,
     "Print what became of each file as JSON (docs/send.md)."},
    /* serve */
    {"json", 0, OPTION_FLAG, AT(json), IN(STORE), NULL, NULL,
     "stats, verify, backup: print JSON for machines: a stable, versioned form (docs/store.md)."},
    {"select", 0, OPTION_TEXT, AT(select), IN(STORE), "SELECTOR", NULL,
     "export: only this, as in cpu{service.name=\"shop\", thread.name=~\"w.*\"} (docs/store.md)."},
    {"start", 0, OPTION_TEXT, AT(since), IN(STORE), "TIME", NULL,
     "export, symbolize: from this time on."},
    {"end", 0, OPTION_TEXT, AT(until), IN(STORE), "TIME", NULL,
     "export, symbolize: before this time."},
    {"to", 't', OPTION_WRITES, AT(to), IN(STORE), "FORMAT", NULL,
     "export: write this format instead of the one the file's name suggests."},
    {"config", 'c', OPTION_PATH, AT(config), IN(SERVE), "FILE", NULL,
     "Read this configuration (YAML, docs/serve.md); what the command line says wins. SIGHUP reads "
     "it again."},
    {"check-config", 0, OPTION_FLAG, AT(check_config), IN(SERVE), NULL, NULL,
     "Print the configuration with all defaults and end: with 0 when it can be used."},
    {"listen", 'l', OPTION_EACH, AT(listen), IN(SERVE), "ADDRESS", NULL,
     "Where to take connections: HOST:PORT or PORT; each speaks gRPC, HTTP/1.1, HTTP/2 and TLS. "
     "May be repeated (default "
     "127.0.0.1:4317, 127.0.0.1:4318 and 127.0.0.1:4040)."},
    {"host", 0, OPTION_EACH, AT(hosts), IN(SERVE), "NAME", NULL,
     "A name by which browsers may come, besides localhost and addresses: pages of others are "
     "turned away. May be repeated."},
    {"store", 0, OPTION_PATH, AT(store_dir), IN(SERVE), "DIR", NULL,
     "Where to keep profiles (default $XDG_DATA_HOME/kiln/store)."},
    {"max-age", 0, OPTION_TEXT, AT(max_age), IN(SERVE), "TIME", NULL,
     "How long to keep them (default 7d); none: for ever."},
    {"max-store", 0, OPTION_TEXT, AT(max_store), IN(SERVE), "SIZE", NULL,
     "Most bytes to keep (default 10GiB), the oldest go first; none: no limit."},
    {"cert", 0, OPTION_PATH, AT(cert), IN(SERVE), "FILE", NULL,
     "Our certificate (PEM): clients may speak TLS."},
    {"key", 0, OPTION_PATH, AT(key), IN(SERVE), "FILE", NULL,
     "Its key (default: in the file of --cert)."},
    {"write-tokens", 0, OPTION_PATH, AT(write_tokens), IN(SERVE), "FILE", NULL,
     "Senders need one of the tokens in this file (one a line; read again when it changes)."},
    {"read-tokens", 0, OPTION_PATH, AT(read_tokens), IN(SERVE), "FILE", NULL,
     "Whoever asks or looks needs one of the tokens in this file."},
    {"insecure", 0, OPTION_FLAG, AT(insecure), IN(SERVE), NULL, NULL,
     "Let other machines talk to us without TLS and without a token."},
    {"forward", 0, OPTION_TEXT, AT(forward), IN(SERVE), "URL", NULL,
     "Pass on what was received: http://HOST:PORT or HOST. Port 4317 means gRPC, others HTTP."},
    {"log-format", 0, OPTION_CHOICE, AT(log_format), IN(SERVE), "FORMAT", "text json logfmt",
     "How to write what happens on standard error (default text)."},
    /* run */
    {"wall", 0, OPTION_FLAG, AT(wall), IN(RUN), NULL, NULL,
     "Take the stacks of all threads by the wall clock too, waiting ones included."},
    {"every", 0, OPTION_TEXT, AT(every), IN(RUN), "TIME", NULL,
     "How often (default 10ms, at least 1ms); says --wall."},
    {"heap", 0, OPTION_FLAG, AT(heap), IN(RUN), NULL, NULL,
     "Sample allocations, and what of them is still in use, too."},
    {"hz", 0, OPTION_COUNT, AT(hz), IN(RUN), "N", NULL,
     "CPU observations a second of each running thread (default 99, at most 10000)."},
    {"output", 'o', OPTION_PATH, AT(output), IN(RUN), "FILE", NULL,
     "Where to write the profile, in the format that the name says (default PROGRAM.otlp; what an "
     "earlier run left there is kept as PROGRAM.otlp.old)."},
    {"html", 0, OPTION_MAYBE, AT(html), IN(RUN), "FILE", NULL,
     "Where to write the report (default: beside the profile)."},
    {"no-html", 0, OPTION_FLAG, AT(no_html), IN(RUN), NULL, NULL, "Write no report."},
    {"to", 't', OPTION_TEXT, AT(address), IN(RUN), "URL", NULL,
     "Send to a receiver of OpenTelemetry while the program runs, and write no files; with "
     "--output write them, and send the profile at the end."},
    {"nodecount", 'n', OPTION_COUNT, AT(nodecount), IN(RUN), "N", NULL,
     "Rows of the table at the end (default 10)."},
    {"json", 0, OPTION_MAYBE, AT(summary), IN(RUN), "FILE", NULL,
     "Give what is told at the end as JSON (docs/run.md): to FILE, or on standard error."},

    {"quiet", 'q', OPTION_FLAG, AT(quiet),
     IN(RUN) | IN(CONVERT) | IN(CHECK) | IN(MERGE) | IN(SYMBOLIZE) | IN(SEND) | IN(STORE), NULL,
     NULL, "Say nothing unless something fails."},
    {"rules", 0, OPTION_FLAG, AT(rules), IN(CHECK), NULL, NULL, "List the rules and exit."},
    {"only", 0, OPTION_LIST, AT(only), IN(CHECK), "RULES", NULL,
     "Check only these rules, such as P-06,P-21."},
    {"ignore", 0, OPTION_LIST, AT(ignore), IN(CHECK), "RULES", NULL, "Leave these rules out."},
    {"fix", 0, OPTION_FLAG, AT(fix), IN(CHECK), NULL, NULL,
     "Repair what has one right answer (missing zero entries, duplicates, unused entries), "
     "write the result to --output and say what was done."},
    {"profcheck", 0, OPTION_FLAG, AT(profcheck), IN(CHECK), NULL, NULL,
     "Give exactly the verdict of the SIG's profcheck on the same bytes, quirks included."},
    {"check-dupes", 0, OPTION_FLAG, AT(check_dupes), IN(CHECK), NULL, NULL,
     "With --profcheck: profcheck's -check-dupes."},
    {"check-orphans", 0, OPTION_FLAG, AT(check_orphans), IN(CHECK), NULL, NULL,
     "With --profcheck: profcheck's -check-orphans."},
    {"no-check-sample-shapes", 0, OPTION_FLAG, AT(no_check_shapes), IN(CHECK), NULL, NULL,
     "With --profcheck: profcheck's -check-sample-shapes=false."},

    /* which profile and which samples */
    {"sample-type", 's', OPTION_TEXT, AT(wanted_type), ASKERS, "TYPE", NULL,
     "Which values: a name such as cpu or alloc_space, TYPE/UNIT, / of profiles without a type, or "
     "the number of a profile. "
     "Default: the file's first type; over several files or senders cpu, then off_cpu or wall, "
     "then memory in use. All profiles of the type are added up."},
    {"sample-index", 0, OPTION_TEXT, AT(wanted_type), ASKERS, "TYPE", NULL,
     "The same, as pprof calls it."},
    {"profile-id", 0, OPTION_TEXT, AT(wanted_id), ASKERS, "HEX", NULL,
     "The profile with this id; its first digits are enough."},
    {"resource", 0, OPTION_EACH, AT(resource), ASKERS, "KEY=PATTERN", NULL,
     "All profiles of the type whose resource has such an attribute: service.name=checkout."},
    {"all", 0, OPTION_FLAG, AT(all), ASKERS, NULL, NULL,
     "With a number as --sample-type: all profiles of that type, added up, not that one alone."},
    {"start", 0, OPTION_TEXT, AT(since), ASKERS, "TIME", NULL,
     "Observations from this time on: 2023-06-27T04:52:00Z, a Unix time, now-1h, or a distance "
     "from "
     "the begin of the profile such as +1.5s."},
    {"end", 0, OPTION_TEXT, AT(until), ASKERS, "TIME", NULL, "Observations before this time."},
    {"thread", 0, OPTION_TEXT, AT(thread), ASKERS, "PATTERN", NULL,
     "Samples of threads with this id or with such a name."},
    {"trace-id", 0, OPTION_TEXT, AT(trace_id), ASKERS, "HEX", NULL,
     "Samples linked to this trace."},
    {"span-id", 0, OPTION_TEXT, AT(span_id), ASKERS, "HEX", NULL, "Samples linked to this span."},
    {"tagfocus", 0, OPTION_TEXT, AT(tagfocus), ASKERS, "PATTERN", NULL,
     "Samples with an attribute that matches: PATTERN for key:value, KEY=PATTERN for the value, or "
     "a "
     "range of numbers such as bytes=1kb:64kb."},
    {"tagignore", 0, OPTION_TEXT, AT(tagignore), ASKERS, "PATTERN", NULL,
     "Samples without such an attribute."},

    /* which stacks and frames */
    {"focus", 'F', OPTION_TEXT, AT(focus), ASKERS, "PATTERN", NULL,
     "Stacks with a frame whose function, file or binary matches."},
    {"ignore", 'I', OPTION_TEXT, AT(ignore_frames), ASKERS, "PATTERN", NULL,
     "Stacks without such a frame."},
    {"hide", 0, OPTION_TEXT, AT(hide), ASKERS, "PATTERN", NULL, "Leave frames out that match."},
    {"show", 0, OPTION_TEXT, AT(show), ASKERS, "PATTERN", NULL, "Leave all other frames out."},
    {"show-from", 0, OPTION_TEXT, AT(show_from), ASKERS, "PATTERN", NULL,
     "Leave out the callers of the outermost frame that matches, and stacks without one."},
    {"tagroot", 0, OPTION_TEXT, AT(tagroot), ASKERS, "KEYS", NULL,
     "Put the values of these attributes at the root of every stack."},
    {"tagleaf", 0, OPTION_TEXT, AT(tagleaf), ASKERS, "KEYS", NULL,
     "Put the values of these attributes at its leaf."},
    {"literal", 0, OPTION_FLAG, AT(literal), ASKERS, NULL, NULL,
     "Patterns are plain text instead of regular expressions (PCRE)."},
    {"all-frames", 0, OPTION_FLAG, AT(keep_pruned), ASKERS, NULL, NULL,
     "Also frames that the profile itself asks to drop (pprof's drop_frames)."},
    {"granularity", 'g', OPTION_CHOICE, AT(granularity), GRAPHS | IN(TRACES) | IN(FLAME), "WHAT",
     "functions filefunctions files lines addresses mappings",
     "What a frame is: functions (default), functions of a file, files, lines, addresses or "
     "binaries."},
    {"functions", 0, OPTION_FLAG, AT(by_functions), GRAPHS | IN(TRACES) | IN(FLAME), NULL, NULL,
     "--granularity functions."},
    {"filefunctions", 0, OPTION_FLAG, AT(by_filefunctions), GRAPHS | IN(TRACES) | IN(FLAME), NULL,
     NULL, "--granularity filefunctions."},
    {"files", 0, OPTION_FLAG, AT(by_files), GRAPHS | IN(TRACES) | IN(FLAME), NULL, NULL,
     "--granularity files."},
    {"lines", 0, OPTION_FLAG, AT(by_lines), GRAPHS | IN(TRACES) | IN(FLAME), NULL, NULL,
     "--granularity lines."},
    {"addresses", 0, OPTION_FLAG, AT(by_addresses), GRAPHS | IN(TRACES) | IN(FLAME), NULL, NULL,
     "--granularity addresses."},
    {"noinlines", 0, OPTION_FLAG, AT(noinlines), ASKERS, NULL, NULL,
     "Count inlined calls for the function that they were inlined into."},

    /* what to show of it */
    {"cum", 0, OPTION_FLAG, AT(by_cum), GRAPHS, NULL, NULL, "Sort by the cumulative value."},
    {"flat", 0, OPTION_FLAG, AT(by_flat), GRAPHS, NULL, NULL, "Sort by the flat value (default)."},
    {"nodecount", 'n', OPTION_COUNT, AT(nodecount), IN(TOP) | IN(TREE) | IN(DIFF), "N", NULL,
     "Show at most N frames (default: all, tree 80; 0 is all)."},
    {"nodefraction", 0, OPTION_FRACTION, AT(nodefraction), IN(TOP) | IN(TREE) | IN(DIFF), "F", NULL,
     "Leave out frames whose cumulative value is below this part of the sum (default 0.005)."},
    {"edgefraction", 0, OPTION_FRACTION, AT(edgefraction), IN(TREE), "F", NULL,
     "Leave out calls below this part of the sum (default 0.001)."},
    {"no-trim", 0, OPTION_FLAG, AT(no_trim), IN(TOP) | IN(TREE) | IN(DIFF), NULL, NULL,
     "Leave nothing out."},
    {"before", 0, OPTION_MANY, AT(before), IN(DIFF), "FILE...", NULL,
     "Recordings of the old side, several of the same work: the test is then made between runs, "
     "and "
     "how much runs differ is measured. Needs --after."},
    {"after", 0, OPTION_MANY, AT(after), IN(DIFF), "FILE...", NULL, "Recordings of the new side."},
    {"per", 0, OPTION_TEXT, AT(per), IN(DIFF), "WHAT", NULL,
     "What amounts are divided by: run (default: recordings of the same work), second (services), "
     "attribute:KEY (a number of the resource or profile), N,M (before and after, such as requests "
     "served), calibration:FRAME (the same work on two machines)."},
    {"absolute", 0, OPTION_FLAG, AT(absolute), IN(DIFF), NULL, NULL, "The same as --per second."},
    {"shares", 0, OPTION_FLAG, AT(shares), IN(DIFF), NULL, NULL,
     "Show shares of the sum instead of amounts. Verdicts are of amounts all the same."},
    {"unchanged", 0, OPTION_FLAG, AT(unchanged), IN(DIFF), NULL, NULL,
     "Show the frames that did not change too; ~ marks what may be noise."},
    {"gate", 0, OPTION_EACH, AT(gates), IN(DIFF), "LIMIT", NULL,
     "Exit with 4 unless the new side keeps it: 'parse<=+10%' (growth of its cost), 'parse<=200ms' "
     "(its cost), 'parse<=4%' (its share), 'total<=+5%'. May be given several times."},
    {"gate-missing-ok", 0, OPTION_FLAG, AT(gate_missing_ok), IN(DIFF), NULL, NULL,
     "A gate that names nothing on either side is kept. Without this it is an error."},
    {"fail-on-regression", 0, OPTION_FLAG, AT(fail_on_regression), IN(DIFF), NULL, NULL,
     "Exit with 4 when the cost of the total or of a frame grew beyond noise."},
    {"false-discoveries", 0, OPTION_FRACTION, AT(fdr), IN(DIFF), "F", NULL,
     "How much of what is called a change may be chance (default 5%)."},
    {"spread", 0, OPTION_FRACTION, AT(spread), IN(DIFF), "F", NULL,
     "How much runs of one program differ, a standard deviation; assumed where fewer than four "
     "recordings cannot show it (default 5%)."},
    {"noise", 0, OPTION_COUNT, AT(noise), IN(DIFF), "N", NULL,
     "Count N neighbouring samples as one, where they say the same thing (default 1)."},
    {"step", 0, OPTION_TEXT, AT(step), IN(SERIES), "TIME", NULL,
     "Length of a step, such as 100ms; otherwise about 60 steps."},
    {"heat", 0, OPTION_FLAG, AT(heat), IN(SERIES), NULL, NULL,
     "Draw a heat map: a column a second, time within the second from the bottom up."},
    {"source-path", 0, OPTION_TEXT, AT(source_path), IN(LIST), "DIRS", NULL,
     "Where to look for source files: directories with : between them (default: the current one)."},
    {"trim-path", 0, OPTION_TEXT, AT(trim_path), IN(LIST), "DIRS", NULL,
     "Beginnings to take off the paths of source files before looking for them."},
    {"weight", 0, OPTION_LIST, AT(weights), (ASKERS & ~IN(DIFF)) | IN(MERGE), "W", NULL,
     "Multiply the values of the inputs: --weight 1,-1 for two of them."},
    {"icicle", 0, OPTION_FLAG, AT(icicle), IN(FLAME), NULL, NULL,
     "SVG: the root on top instead of below. On a terminal it always is."},
    {"inverted", 0, OPTION_FLAG, AT(inverted), IN(FLAME), NULL, NULL,
     "Begin with the leaves and go up their callers: who uses what is hot?"},
    {"palette", 0, OPTION_CHOICE, AT(palette), IN(FLAME), "WHAT", "package library diff",
     "What colours mean: package (default), library, or with --diff the change."},
    {"min-width", 0, OPTION_TEXT, AT(min_width), IN(FLAME), "PX", NULL,
     "SVG: leave out boxes that would be narrower (default 0.1); it says how many."},
    {"title", 0, OPTION_TEXT, AT(title), IN(FLAME), "TEXT", NULL,
     "SVG: the heading, instead of the name of the file."},
    {"unit", 0, OPTION_TEXT, AT(unit), ASKERS, "UNIT", NULL,
     "Show values in this unit (ms, MB) instead of what is easy to read."},
    {"width", 0, OPTION_COUNT, AT(width), ASKERS | IN(RUN), "N", NULL,
     "Columns to use (default: the terminal's; all that is needed when it is no terminal)."},
    {"no-pager", 0, OPTION_FLAG, AT(no_pager), ASKERS, NULL, NULL,
     "Do not show long output on a terminal through $PAGER (default: less)."},

    {"select", 0, OPTION_TEXT, AT(select), READERS, "SELECTOR", NULL,
     "Of a server or a store, where the argument has no ?query=: cpu{service.name=\"shop\"} "
     "(docs/sources.md)."},
    {"token-file", 0, OPTION_PATH, AT(token_file), READERS, "FILE", NULL,
     "The token for a server that wants one (default: the variable KILN_TOKEN)."},
    {"man", 0, OPTION_FLAG, AT(man), IN(HELP), NULL, NULL, "Print the manual page as roff."},
    {"max-bytes", 0, OPTION_SIZE, AT(max_bytes), READERS, "SIZE", NULL,
     "Most bytes an input may have, also after decompression (default 1GiB)."},
    {"max-payload", 0, OPTION_SIZE, AT(max_payload), READERS, "SIZE", NULL,
     "Most bytes one compressed payload inside a framed input may become (default 256MiB)."},
    {"max-memory", 0, OPTION_SIZE, AT(max_memory), READERS, "SIZE", NULL,
     "Most memory the profiles of one input may take (default 4GiB, or half of the machine's)."},
    {"color", 0, OPTION_CHOICE, AT(color), ALL, "WHEN", "auto always never",
     "Colours: auto (default) means on a terminal, unless NO_COLOR is set."},
    {"help", 'h', OPTION_FLAG, AT(help), ALL, NULL, NULL, "Show this help."},
};

const option_desc *options(size_t *n)
{
    *n = ARRAY_LEN(all_options);
    return all_options;
}

static bool is_offered(const option_desc *d, const format *f)
{
    return d->kind == OPTION_READS ? f->read != NULL : f->write != NULL;
}

void option_choices(buf *b, const option_desc *d)
{
    size_t n, k = 0;
    const format *const *all = formats(&n);
    if (d->choices) buf_z(b, d->choices);
    if (d->kind != OPTION_READS && d->kind != OPTION_WRITES) return;
    for (size_t i = 0; i < n; i++)
        if (is_offered(d, all[i])) buf_printf(b, "%s%s", k++ ? " " : "", all[i]->name);
}
