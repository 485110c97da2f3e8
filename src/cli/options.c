/* The table of options: the values of each option, the commands that have it, and its help text. An
 * option that differs between commands has several entries. */
#include "cli/options.h"

#include "cli/cli.h"
#include "format/format.h"
#include "base/ban.h"

#define IN(c) (1u << COMMAND_##c)
#define ALL ((1u << COMMAND_COUNT) - 1)
/* Commands that show a selection of samples (cli/query.h). */
#define QUERIES                                                                                    \
    (IN(TOP) | IN(TREE) | IN(PEEK) | IN(LIST) | IN(TRACES) | IN(DIFF) | IN(SERIES) | IN(FLAME))
#define GRAPHS (IN(TOP) | IN(TREE) | IN(PEEK) | IN(DIFF))
#define READERS                                                                                    \
    (IN(INFO) | IN(CAT) | IN(CONVERT) | IN(CHECK) | IN(MERGE) | IN(SYMBOLIZE) | IN(SEND) | QUERIES)
#define AT(field) offsetof(cli_options, field)

#define LAYOUTS "1.3 1.4 1.5 1.6 1.7 1.8 1.9 1.10 1.11 current"

static const option_desc all_options[] = {
    {"json", 0, OPTION_FLAG, AT(json), IN(INFO), NULL, NULL,
     "Print JSON in a stable, versioned form (docs/info.md)."},
    {"json", 0, OPTION_FLAG, AT(json), IN(CHECK), NULL, NULL,
     "Print the findings as JSON (docs/check.md)."},
    {"json", 0, OPTION_FLAG, AT(json), IN(CONVERT) | IN(MERGE), NULL, NULL,
     "Print the loss ledger as JSON on standard output."},
    {"json", 0, OPTION_FLAG, AT(json), QUERIES, NULL, NULL,
     "Print JSON in a stable, versioned form (docs/query.md)."},
    {"format", 'f', OPTION_CHOICE, AT(format), IN(CAT), "FORM", "yaml json text arrays-yaml",
     "Output format: yaml (default), json (OTLP/JSON), text (protobuf text format, as protoc "
     "--decode prints it), arrays-yaml (any input, in the shape of the arrays draft)."},
    {"output", 'o', OPTION_PATH, AT(output),
     IN(CONVERT) | IN(CHECK) | IN(MERGE) | IN(FLAME) | IN(SERIES) | IN(SYMBOLIZE), "FILE", NULL,
     "Write to FILE; - is standard output. FILE is replaced only after it was written "
     "completely."},
    {"json", 0, OPTION_FLAG, AT(json), IN(FORMATS), NULL, NULL,
     "Print the table as JSON (docs/formats.md)."},
    {"json", 0, OPTION_FLAG, AT(json), IN(SYMBOLIZE), NULL, NULL,
     "Print the result for each binary as JSON on standard output (docs/symbolize.md)."},
    {"json", 0, OPTION_FLAG, AT(json), IN(CTX), NULL, NULL,
     "Print JSON in a stable, versioned form (docs/ctx.md)."},
    {"no-threads", 0, OPTION_FLAG, AT(no_threads), IN(CTX), NULL, NULL,
     "Read only the process context; stop no thread."},
    {"from", 0, OPTION_READS, AT(from), READERS, "FORMAT", NULL,
     "Read the input as this format instead of detecting it from the bytes (kiln formats lists "
     "them)."},
    {"to", 't', OPTION_WRITES, AT(to), IN(CONVERT) | IN(MERGE) | IN(SYMBOLIZE), "FORMAT", NULL,
     "Write this format instead of the one that the name of the output implies. original "
     "restores the file that --keep-original embedded."},
    {"to", 't', OPTION_CHOICE, AT(to), IN(FLAME), "PICTURE", "svg html",
     "Write this kind of picture instead of the one that the name of the output implies."},
    {"to", 't', OPTION_CHOICE, AT(to), IN(SERIES), "PICTURE", "svg",
     "Write this kind of picture instead of the one that the name of the output implies."},
    {"diff", 'd', OPTION_PATH, AT(diff), IN(FLAME), "BASE", NULL,
     "Compare with the profile BASE and show what grew and what shrank since."},
    {"layout", 0, OPTION_CHOICE, AT(layout), READERS, "RELEASE", LAYOUTS,
     "Read OTLP in the layout of this opentelemetry-proto release instead of detecting it."},
    {"canonical", 0, OPTION_FLAG, AT(canonical), IN(CONVERT) | IN(MERGE), NULL, NULL,
     "Re-encode in canonical form: no duplicates, no unused entries, stacks sorted from the "
     "root, samples by stack. Smaller after compression."},
    {"string-refs", 0, OPTION_FLAG, AT(string_refs), IN(CONVERT), NULL, NULL,
     "Write resource and scope strings as references into the string table (OTLP 1.10; many "
     "receivers cannot read them)."},
    {"split", 0, OPTION_FLAG, AT(split), IN(CONVERT), NULL, NULL,
     "Keep the profiles of several inputs separate instead of merging them. If the output ends "
     "in /, write one file per input into that directory."},
    {"profile-id", 0, OPTION_TEXT, AT(profile_id), IN(CONVERT), "HEX", NULL,
     "Id of a profile that has none: 32 hex digits. Further profiles get consecutive ids."},
    {"start", 0, OPTION_TEXT, AT(start), IN(CONVERT), "TIME", NULL,
     "Start time of profiles that do not record one: 2023-06-27T04:52:00Z, or a Unix time in s, "
     "ms, us or ns."},
    {"end", 0, OPTION_TEXT, AT(end), IN(CONVERT), "TIME", NULL,
     "End time of profiles that do not record their duration."},
    {"schema-url", 0, OPTION_TEXT, AT(schema_url), IN(CONVERT), "URL", NULL,
     "Schema URL of resources that have none."},
    {"sample-type", 0, OPTION_TEXT, AT(sample_type), IN(CONVERT), "TYPE/UNIT", NULL,
     "Type of the values if the input does not state it: cpu/nanoseconds, samples/count."},
    {"time-anchor", 0, OPTION_TEXT, AT(time_anchor), IN(CONVERT), "TIME", NULL,
     "Time at which the recording began, for inputs whose clock does not count from 1970."},
    {"time-anchor", 0, OPTION_TEXT, AT(time_anchor), IN(SEND) | IN(STORE), "TIME", NULL,
     "Time at which the recording began, for inputs whose clock does not count from 1970. "
     "Default: the date in the file; without one, the modification time of the file is the time "
     "of the last sample (store: import)."},
    {"keep-original", 0, OPTION_TIMES, AT(keep_original), IN(CONVERT), NULL, NULL,
     "Embed the input file in the profile. A pprof file is embedded only if the option is given "
     "twice: the specification advises against it, because the profile already has all of its "
     "contents."},
    {"no-extras", 0, OPTION_FLAG, AT(no_extras), IN(CONVERT), NULL, NULL,
     "Leave out the kiln.* attributes, which carry what OTLP has no field for."},
    {"timestamps", 0, OPTION_FLAG, AT(timestamps), IN(CONVERT), NULL, NULL,
     "pprof: write one sample per timestamp, with a label, instead of their sum."},
    {"thread-frames", 0, OPTION_FLAG, AT(thread_frames), IN(CONVERT), NULL, NULL,
     "folded, collapsed: start every stack with its thread."},
    {"percent", 0, OPTION_FLAG, AT(percent), IN(CONVERT), NULL, NULL,
     "folded, collapsed: percent-encode characters that a name must not contain, and decode "
     "them when reading."},
    {"strict", 0, OPTION_FLAG, AT(strict), IN(CONVERT) | IN(MERGE), NULL, NULL,
     "Write nothing and exit with 1 if anything would be lost."},
    {"debug-dir", 0, OPTION_LIST, AT(debug_dir),
     IN(SYMBOLIZE) | IN(RUN) | IN(RECORD) | IN(STORE) | QUERIES, "DIR", NULL,
     "Search DIR for binaries and debug files before /usr/lib/debug: by build id "
     "(DIR/.build-id), by path and by name. May be repeated."},
    {"demangle", 0, OPTION_CHOICE, AT(demangle), IN(SYMBOLIZE), "HOW", "short full none",
     "How to show C++ and Rust names: short (default) omits template arguments and parameters."},
    {"kallsyms", 0, OPTION_PATH, AT(kallsyms), IN(SYMBOLIZE) | QUERIES, "FILE", NULL,
     "Kernel symbols in the format of /proc/kallsyms. Default: /proc/kallsyms, if the profile "
     "is of the running kernel."},
    {"perf-map", 0, OPTION_PATH, AT(perf_map), IN(SYMBOLIZE), "FILE", NULL,
     "Symbols of code generated at run time (default /tmp/perf-PID.map)."},
    {"perf-map", 0, OPTION_PATH, AT(perf_map), QUERIES, "FILE", NULL,
     "Symbols of code generated at run time, such as /tmp/perf-PID.map."},
    {"no-symbolize", 0, OPTION_FLAG, AT(no_symbolize), QUERIES, NULL, NULL,
     "Show addresses without names instead of looking them up in the binaries of this machine "
     "by build id."},
    {"symbolize-timeout", 0, OPTION_TEXT, AT(symbolize_timeout), QUERIES, "TIME", NULL,
     "Time limit for these lookups (default 10s)."},
    {"force", 0, OPTION_FLAG, AT(force), IN(SYMBOLIZE), NULL, NULL,
     "Also look up addresses that already have names."},
    {"no-cache", 0, OPTION_FLAG, AT(no_cache), IN(SYMBOLIZE) | QUERIES, NULL, NULL,
     "Neither read nor write symbol indexes below XDG_CACHE_HOME."},
    {"cache-size", 0, OPTION_SIZE, AT(cache_size), IN(SYMBOLIZE), "SIZE", NULL,
     "Maximum size of the symbol cache (default 1GiB)."},
    {"strict", 0, OPTION_FLAG, AT(strict), IN(SYMBOLIZE), NULL, NULL,
     "Write nothing and exit with 1 if an address remains without a name."},
    {"to", 't', OPTION_TEXT, AT(address), IN(SEND), "URL", NULL,
     "Destination: http://HOST:PORT, https://HOST:PORT, or HOST. Port 4317 means gRPC, others "
     "HTTP. Default: OTEL_EXPORTER_OTLP_ENDPOINT and related variables."},
    {"as", 0, OPTION_CHOICE, AT(signal), IN(SEND), "SIGNAL", "profiles logs",
     "Send OTLP profiles (default), or log records in the format of Splunk's agents."},
    {"protocol", 0, OPTION_CHOICE, AT(protocol), IN(SEND) | IN(RUN) | IN(RECORD), "PROTOCOL",
     "grpc http/protobuf", "Protocol to use if the port does not imply it."},
    {"compression", 0, OPTION_CHOICE, AT(compression), IN(SEND), "HOW", "none gzip zstd",
     "Compress requests."},
    {"header", 0, OPTION_EACH, AT(headers), IN(SEND), "NAME=VALUE", NULL,
     "Add this header to every request. May be repeated."},
    {"timeout", 0, OPTION_TEXT, AT(timeout), IN(SEND), "TIME", NULL,
     "Time limit of one attempt (default 10s)."},
    {"wait", 0, OPTION_TEXT, AT(wait), IN(SEND), "TIME", NULL,
     "Time limit of all attempts while the receiver is down or busy (default 10s)."},
    {"ca", 0, OPTION_PATH, AT(ca), IN(SEND), "FILE", NULL,
     "CA certificates to trust (PEM) instead of the system's."},
    {"cert", 0, OPTION_PATH, AT(cert), IN(SEND), "FILE", NULL, "Client certificate (PEM)."},
    {"key", 0, OPTION_PATH, AT(key), IN(SEND), "FILE", NULL,
     "Private key of the client certificate (default: in the file of --cert)."},
    {"spool", 0, OPTION_PATH, AT(spool), IN(SEND), "DIR", NULL,
     "Keep undelivered requests in DIR; the next send with the same DIR delivers them first."},
    {"spool-size", 0, OPTION_SIZE, AT(spool_size), IN(SEND), "SIZE", NULL,
     "Maximum size of the spool directory (default 256MiB); the oldest requests are deleted "
     "first."},
    {"json", 0, OPTION_FLAG, AT(json), IN(SEND), NULL, NULL,
     "Print the result for each file as JSON (docs/send.md)."},
    /* serve */
    {"json", 0, OPTION_FLAG, AT(json), IN(STORE), NULL, NULL,
     "stats, verify, backup: print JSON in a stable, versioned form (docs/store.md)."},
    {"select", 0, OPTION_TEXT, AT(select), IN(STORE), "SELECTOR", NULL,
     "export: only profiles and samples that match, such as cpu{service.name=\"shop\", "
     "thread.name=~\"w.*\"} (docs/store.md)."},
    {"start", 0, OPTION_TEXT, AT(since), IN(STORE), "TIME", NULL,
     "export, symbolize: start of the range, inclusive."},
    {"end", 0, OPTION_TEXT, AT(until), IN(STORE), "TIME", NULL,
     "export, symbolize: end of the range, exclusive."},
    {"to", 't', OPTION_WRITES, AT(to), IN(STORE), "FORMAT", NULL,
     "export: write this format instead of the one that the name of the file implies."},
    {"config", 'c', OPTION_PATH, AT(config), IN(SERVE), "FILE", NULL,
     "Read this configuration file (YAML, docs/serve.md). Command-line options take precedence. "
     "SIGHUP reloads the file."},
    {"check-config", 0, OPTION_FLAG, AT(check_config), IN(SERVE), NULL, NULL,
     "Print the effective configuration with all defaults and exit; the exit code is 0 if it is "
     "valid."},
    {"listen", 'l', OPTION_EACH, AT(listen), IN(SERVE), "ADDRESS", NULL,
     "Address to listen on: HOST:PORT or PORT. Every address accepts gRPC, HTTP/1.1, HTTP/2 and "
     "TLS. May be repeated (default 127.0.0.1:4317, 127.0.0.1:4318 and 127.0.0.1:4040)."},
    {"host", 0, OPTION_EACH, AT(hosts), IN(SERVE), "NAME", NULL,
     "Host name that browsers may use for this server, besides localhost and IP addresses; "
     "requests from pages of other origins are rejected. May be repeated."},
    {"store", 0, OPTION_PATH, AT(store_dir), IN(SERVE), "DIR", NULL,
     "Directory of the store (default $XDG_DATA_HOME/kiln/store)."},
    {"max-age", 0, OPTION_TEXT, AT(max_age), IN(SERVE), "TIME", NULL,
     "Delete profiles older than this (default 7d); none: keep them indefinitely."},
    {"max-store", 0, OPTION_TEXT, AT(max_store), IN(SERVE), "SIZE", NULL,
     "Maximum size of the store (default 10GiB); the oldest profiles are deleted first; none: "
     "no limit."},
    {"cert", 0, OPTION_PATH, AT(cert), IN(SERVE), "FILE", NULL,
     "Server certificate (PEM); enables TLS."},
    {"key", 0, OPTION_PATH, AT(key), IN(SERVE), "FILE", NULL,
     "Private key of the server certificate (default: in the file of --cert)."},
    {"write-tokens", 0, OPTION_PATH, AT(write_tokens), IN(SERVE), "FILE", NULL,
     "Require senders to use a token of this file (one per line; the file is reloaded when it "
     "changes)."},
    {"read-tokens", 0, OPTION_PATH, AT(read_tokens), IN(SERVE), "FILE", NULL,
     "Require clients of the query API and of the web page to use a token of this file."},
    {"insecure", 0, OPTION_FLAG, AT(insecure), IN(SERVE), NULL, NULL,
     "Accept connections from other hosts without TLS and without a token."},
    {"forward", 0, OPTION_TEXT, AT(forward), IN(SERVE), "URL", NULL,
     "Forward received profiles to http://HOST:PORT or HOST. Port 4317 means gRPC, others HTTP."},
    {"log-format", 0, OPTION_CHOICE, AT(log_format), IN(SERVE), "FORMAT", "text json logfmt",
     "Format of the log on standard error (default text)."},
    /* run */
    {"wall", 0, OPTION_FLAG, AT(wall), IN(RUN), NULL, NULL,
     "Also sample all threads by wall-clock time, including waiting ones."},
    {"every", 0, OPTION_TEXT, AT(every), IN(RUN), "TIME", NULL,
     "Interval of wall-clock sampling (default 10ms, at least 1ms); implies --wall."},
    {"heap", 0, OPTION_FLAG, AT(heap), IN(RUN), NULL, NULL,
     "Also sample allocations and live memory."},
    {"hz", 0, OPTION_COUNT, AT(hz), IN(RUN) | IN(RECORD), "N", NULL,
     "CPU observations per second and running thread (default 99, at most 10000)."},
    {"output", 'o', OPTION_PATH, AT(output), IN(RUN), "FILE", NULL,
     "Write the profile to FILE, in the format that its name implies (default PROGRAM.otlp; an "
     "existing PROGRAM.otlp is renamed to PROGRAM.otlp.old)."},
    {"pid", 'p', OPTION_LIST, AT(pids), IN(RECORD), "PID", NULL,
     "Record this process, its threads, and the processes that it starts. Several ids are "
     "separated by commas."},
    {"all", 'a', OPTION_FLAG, AT(whole_machine), IN(RECORD), NULL, NULL,
     "Record every process of the machine (needs root or CAP_PERFMON)."},
    {"cgroup", 0, OPTION_PATH, AT(cgroup), IN(RECORD), "DIR", NULL,
     "Record the processes of this cgroup, a directory of cgroup2 (needs root or CAP_PERFMON)."},
    {"comm", 0, OPTION_TEXT, AT(comm), IN(RECORD), "NAME", NULL,
     "Record only threads with this name (the first 15 bytes count); `NAME*`: those whose name "
     "begins so."},
    {"duration", 'd', OPTION_TEXT, AT(duration), IN(RECORD), "TIME", NULL,
     "End the recording after this time, such as 30s; a PROGRAM runs on. Default: until ^C, or "
     "until the processes have ended."},
    {"off-cpu", 0, OPTION_FLAG, AT(off_cpu), IN(RECORD), NULL, NULL,
     "Also record each wait of each thread with its stack, start, duration and reason (needs "
     "root, or CAP_BPF and CAP_PERFMON)."},
    {"off-cpu-min", 0, OPTION_TEXT, AT(off_cpu_min), IN(RECORD), "TIME", NULL,
     "Leave out waits shorter than TIME, such as 1ms; the summary has their number and sum. "
     "Implies --off-cpu."},
    {"kernel", 0, OPTION_FLAG, AT(kernel_stacks), IN(RECORD), NULL, NULL,
     "Also record kernel stacks and kernel threads (needs root or CAP_PERFMON)."},
    {"every", 0, OPTION_TEXT, AT(every), IN(RECORD), "TIME", NULL,
     "With --to: send a batch at this interval (default 10s, at least 1s)."},
    {"aggregate", 0, OPTION_FLAG, AT(aggregate), IN(RECORD), NULL, NULL,
     "With BPF: count equal CPU observations in the kernel instead of keeping the time of each. "
     "Files are smaller, but have no heat maps and lanes."},
    {"mode", 0, OPTION_CHOICE, AT(record_mode), IN(RECORD), "MODE", "auto perf bpf",
     "auto (default) uses BPF where the kernel and the privileges permit it, otherwise perf "
     "events."},
    {"output", 'o', OPTION_PATH, AT(output), IN(RECORD), "FILE", NULL,
     "Write the profile to FILE, in the format that its name implies (default PROGRAM.otlp, or "
     "machine.otlp for -a; an existing default file is renamed to *.old)."},
    {"to", 't', OPTION_TEXT, AT(address), IN(RECORD), "URL", NULL,
     "Send the profiles to an OpenTelemetry receiver while recording, and write no files. With "
     "--output, write the files and send the profile at the end."},
    {"json", 0, OPTION_MAYBE, AT(summary), IN(RECORD), "FILE", NULL,
     "Write the summary as JSON to FILE, or to standard error (docs/record.md)."},
    {"html", 0, OPTION_MAYBE, AT(html), IN(RUN) | IN(RECORD), "FILE", NULL,
     "Write the HTML report to FILE (default: next to the profile)."},
    {"no-html", 0, OPTION_FLAG, AT(no_html), IN(RUN) | IN(RECORD), NULL, NULL,
     "Do not write an HTML report."},
    {"to", 't', OPTION_TEXT, AT(address), IN(RUN), "URL", NULL,
     "Send the profiles to an OpenTelemetry receiver while the program runs, and write no "
     "files. With --output, write the files and send the profile at the end."},
    {"nodecount", 'n', OPTION_COUNT, AT(nodecount), IN(RUN) | IN(RECORD), "N", NULL,
     "Rows of the table that is printed at the end (default 10)."},
    {"json", 0, OPTION_MAYBE, AT(summary), IN(RUN), "FILE", NULL,
     "Write the summary as JSON to FILE, or to standard error (docs/run.md)."},

    {"quiet", 'q', OPTION_FLAG, AT(quiet),
     IN(RUN) | IN(RECORD) | IN(CONVERT) | IN(CHECK) | IN(MERGE) | IN(SYMBOLIZE) | IN(SEND) |
         IN(STORE),
     NULL, NULL, "Print nothing unless something fails."},
    {"rules", 0, OPTION_FLAG, AT(rules), IN(CHECK), NULL, NULL, "List the rules and exit."},
    {"only", 0, OPTION_LIST, AT(only), IN(CHECK), "RULES", NULL,
     "Check only these rules, such as P-06,P-21."},
    {"ignore", 0, OPTION_LIST, AT(ignore), IN(CHECK), "RULES", NULL, "Skip these rules."},
    {"fix", 0, OPTION_FLAG, AT(fix), IN(CHECK), NULL, NULL,
     "Repair violations that have exactly one right repair (missing zero entries, duplicates, "
     "unused entries), write the result to --output and print what was changed."},
    {"profcheck", 0, OPTION_FLAG, AT(profcheck), IN(CHECK), NULL, NULL,
     "Print exactly the verdict of the SIG's profcheck on the same bytes, including its quirks."},
    {"check-dupes", 0, OPTION_FLAG, AT(check_dupes), IN(CHECK), NULL, NULL,
     "With --profcheck: profcheck's -check-dupes."},
    {"check-orphans", 0, OPTION_FLAG, AT(check_orphans), IN(CHECK), NULL, NULL,
     "With --profcheck: profcheck's -check-orphans."},
    {"no-check-sample-shapes", 0, OPTION_FLAG, AT(no_check_shapes), IN(CHECK), NULL, NULL,
     "With --profcheck: profcheck's -check-sample-shapes=false."},

    /* selection of profiles and samples */
    {"sample-type", 's', OPTION_TEXT, AT(wanted_type), QUERIES, "TYPE", NULL,
     "Type of values to show: a name such as cpu or alloc_space, TYPE/UNIT, / for profiles "
     "without a type, or the number of a profile. Default: the first type of the file; for "
     "several files or senders cpu, then off_cpu or wall, then memory in use. All profiles of "
     "the type are added up."},
    {"sample-index", 0, OPTION_TEXT, AT(wanted_type), QUERIES, "TYPE", NULL,
     "Same as --sample-type (pprof's name)."},
    {"profile-id", 0, OPTION_TEXT, AT(wanted_id), QUERIES, "HEX", NULL,
     "Only the profile with this id; a prefix is enough."},
    {"resource", 0, OPTION_EACH, AT(resource), QUERIES, "KEY=PATTERN", NULL,
     "Only profiles whose resource has a matching attribute, such as service.name=checkout."},
    {"all", 0, OPTION_FLAG, AT(all), QUERIES, NULL, NULL,
     "If --sample-type is a number: add up all profiles of that profile's type."},
    {"start", 0, OPTION_TEXT, AT(since), QUERIES, "TIME", NULL,
     "Start of the range, inclusive: 2023-06-27T04:52:00Z, a Unix time, now-1h, or an offset "
     "from the start of the profile such as +1.5s."},
    {"end", 0, OPTION_TEXT, AT(until), QUERIES, "TIME", NULL, "End of the range, exclusive."},
    {"thread", 0, OPTION_TEXT, AT(thread), QUERIES, "PATTERN", NULL,
     "Only samples of threads with this id or with a matching name."},
    {"trace-id", 0, OPTION_TEXT, AT(trace_id), QUERIES, "HEX", NULL,
     "Only samples linked to this trace."},
    {"span-id", 0, OPTION_TEXT, AT(span_id), QUERIES, "HEX", NULL,
     "Only samples linked to this span."},
    {"tagfocus", 0, OPTION_TEXT, AT(tagfocus), QUERIES, "PATTERN", NULL,
     "Only samples with a matching attribute: PATTERN matches key:value, KEY=PATTERN the value, "
     "and bytes=1kb:64kb a range of numbers."},
    {"tagignore", 0, OPTION_TEXT, AT(tagignore), QUERIES, "PATTERN", NULL,
     "Only samples without a matching attribute."},

    /* selection of stacks and frames */
    {"focus", 'F', OPTION_TEXT, AT(focus), QUERIES, "PATTERN", NULL,
     "Only stacks with a frame whose function, file or binary matches."},
    {"ignore", 'I', OPTION_TEXT, AT(ignore_frames), QUERIES, "PATTERN", NULL,
     "Only stacks without a matching frame."},
    {"hide", 0, OPTION_TEXT, AT(hide), QUERIES, "PATTERN", NULL,
     "Remove matching frames from the stacks."},
    {"show", 0, OPTION_TEXT, AT(show), QUERIES, "PATTERN", NULL,
     "Remove all frames that do not match."},
    {"focus-category", 0, OPTION_TEXT, AT(focus_category), QUERIES, "PATTERN", NULL,
     "Remove frames of other categories (profile.frame.type, such as kernel or jvm)."},
    {"show-from", 0, OPTION_TEXT, AT(show_from), QUERIES, "PATTERN", NULL,
     "Remove the callers of the outermost matching frame, and stacks without a match."},
    {"collapse", 0, OPTION_TEXT, AT(collapse), QUERIES, "PATTERN", NULL,
     "Remove the callees of the outermost matching frame."},
    {"collapse-library", 0, OPTION_TEXT, AT(collapse_library), QUERIES, "PATTERN", NULL,
     "Show adjacent frames of a matching binary as one frame."},
    {"collapse-recursion", 0, OPTION_TEXT, AT(collapse_recursion), QUERIES, "PATTERN", NULL,
     "Show all calls of a matching function in a stack as one, without the calls in "
     "between."},
    {"collapse-direct-recursion", 0, OPTION_TEXT, AT(collapse_direct_recursion), QUERIES, "PATTERN",
     NULL, "Show adjacent calls of a matching function by itself as one frame."},
    {"begins-with", 0, OPTION_TEXT, AT(begins_with), QUERIES, "PATH", NULL,
     "Only stacks whose outermost frames are PATH: names separated by semicolons, such as "
     "main;run."},
    {"ends-with", 0, OPTION_TEXT, AT(ends_with), QUERIES, "PATH", NULL,
     "Only stacks whose innermost frames are PATH."},
    {"tagroot", 0, OPTION_TEXT, AT(tagroot), QUERIES, "KEYS", NULL,
     "Add the values of these attributes as frames at the root of every stack."},
    {"tagleaf", 0, OPTION_TEXT, AT(tagleaf), QUERIES, "KEYS", NULL,
     "Add the values of these attributes as frames at the leaf of every stack."},
    {"literal", 0, OPTION_FLAG, AT(literal), QUERIES, NULL, NULL,
     "Treat patterns as plain text instead of regular expressions (PCRE)."},
    {"all-frames", 0, OPTION_FLAG, AT(keep_pruned), QUERIES, NULL, NULL,
     "Keep frames that the profile marks as to be dropped (pprof's drop_frames)."},
    {"granularity", 'g', OPTION_CHOICE, AT(granularity), GRAPHS | IN(TRACES) | IN(FLAME), "WHAT",
     "functions filefunctions files lines addresses mappings",
     "What one frame is: functions (default), filefunctions (functions of one file), files, "
     "lines, addresses or mappings (binaries)."},
    {"functions", 0, OPTION_FLAG, AT(by_functions), GRAPHS | IN(TRACES) | IN(FLAME), NULL, NULL,
     "Same as --granularity functions."},
    {"filefunctions", 0, OPTION_FLAG, AT(by_filefunctions), GRAPHS | IN(TRACES) | IN(FLAME), NULL,
     NULL, "Same as --granularity filefunctions."},
    {"files", 0, OPTION_FLAG, AT(by_files), GRAPHS | IN(TRACES) | IN(FLAME), NULL, NULL,
     "Same as --granularity files."},
    {"lines", 0, OPTION_FLAG, AT(by_lines), GRAPHS | IN(TRACES) | IN(FLAME), NULL, NULL,
     "Same as --granularity lines."},
    {"addresses", 0, OPTION_FLAG, AT(by_addresses), GRAPHS | IN(TRACES) | IN(FLAME), NULL, NULL,
     "Same as --granularity addresses."},
    {"noinlines", 0, OPTION_FLAG, AT(noinlines), QUERIES, NULL, NULL,
     "Attribute inlined calls to the function that contains them."},

    /* presentation */
    {"cum", 0, OPTION_FLAG, AT(by_cum), GRAPHS, NULL, NULL, "Sort by the cumulative value."},
    {"flat", 0, OPTION_FLAG, AT(by_flat), GRAPHS, NULL, NULL, "Sort by the flat value (default)."},
    {"nodecount", 'n', OPTION_COUNT, AT(nodecount), IN(TOP) | IN(TREE) | IN(DIFF), "N", NULL,
     "Show at most N frames; 0 shows all (default: all; tree: 80)."},
    {"nodefraction", 0, OPTION_FRACTION, AT(nodefraction), IN(TOP) | IN(TREE) | IN(DIFF), "F", NULL,
     "Omit frames whose cumulative value is below this fraction of the total (default 0.005)."},
    {"edgefraction", 0, OPTION_FRACTION, AT(edgefraction), IN(TREE), "F", NULL,
     "Omit calls below this fraction of the total (default 0.001)."},
    {"no-trim", 0, OPTION_FLAG, AT(no_trim), IN(TOP) | IN(TREE) | IN(DIFF), NULL, NULL,
     "Omit nothing."},
    {"before", 0, OPTION_MANY, AT(before), IN(DIFF), "FILE...", NULL,
     "Recordings of the old version: several runs of the same work. kiln then measures how much "
     "runs differ and tests between runs. Requires --after."},
    {"after", 0, OPTION_MANY, AT(after), IN(DIFF), "FILE...", NULL,
     "Recordings of the new version."},
    {"per", 0, OPTION_TEXT, AT(per), IN(DIFF), "WHAT", NULL,
     "Divide amounts by: run (default; recordings of the same work), second (services), "
     "attribute:KEY (a numeric attribute of the resource or profile), N,M (numbers for before "
     "and after, such as requests served), calibration:FRAME (the same work on two machines)."},
    {"absolute", 0, OPTION_FLAG, AT(absolute), IN(DIFF), NULL, NULL, "Same as --per second."},
    {"shares", 0, OPTION_FLAG, AT(shares), IN(DIFF), NULL, NULL,
     "Show shares of the total instead of amounts. The verdicts are still about amounts."},
    {"unchanged", 0, OPTION_FLAG, AT(unchanged), IN(DIFF), NULL, NULL,
     "Also show frames that did not change; ~ marks differences that may be noise."},
    {"gate", 0, OPTION_EACH, AT(gates), IN(DIFF), "LIMIT", NULL,
     "Exit with 4 if the new side exceeds the limit: 'parse<=+10%' (growth of cost), "
     "'parse<=200ms' (cost), 'parse<=4%' (share), 'total<=+5%'. May be repeated."},
    {"gate-missing-ok", 0, OPTION_FLAG, AT(gate_missing_ok), IN(DIFF), NULL, NULL,
     "A gate passes if no frame on either side has its name. Without this option that is an "
     "error."},
    {"fail-on-regression", 0, OPTION_FLAG, AT(fail_on_regression), IN(DIFF), NULL, NULL,
     "Exit with 4 if the cost of the total or of a frame grew beyond noise."},
    {"false-discoveries", 0, OPTION_FRACTION, AT(fdr), IN(DIFF), "F", NULL,
     "Accepted fraction of false positives among the reported changes (default 5%)."},
    {"spread", 0, OPTION_FRACTION, AT(spread), IN(DIFF), "F", NULL,
     "Assumed standard deviation between runs of one program, used if fewer than four "
     "recordings per side are given (default 5%)."},
    {"noise", 0, OPTION_COUNT, AT(noise), IN(DIFF), "N", NULL,
     "Treat up to N neighbouring samples that agree as one (default 1)."},
    {"step", 0, OPTION_TEXT, AT(step), IN(SERIES), "TIME", NULL,
     "Length of a step, such as 100ms (default: about 60 steps)."},
    {"heat", 0, OPTION_FLAG, AT(heat), IN(SERIES), NULL, NULL,
     "Draw a heat map: one column per second, with time within the second from bottom to top."},
    {"source", 0, OPTION_FLAG, AT(source), IN(FLAME), NULL, NULL,
     "HTML: include the source files of the profile that are below the directories of "
     "--source-path, at most 4 MiB. Anyone who has the report can read them."},
    {"source-path", 0, OPTION_TEXT, AT(source_path), IN(LIST) | IN(FLAME), "DIRS", NULL,
     "Directories to search for source files, separated by : (default: the current directory)."},
    {"trim-path", 0, OPTION_TEXT, AT(trim_path), IN(LIST) | IN(FLAME), "DIRS", NULL,
     "Prefixes to remove from source paths before searching, separated by :."},
    {"weight", 0, OPTION_LIST, AT(weights), (QUERIES & ~IN(DIFF)) | IN(MERGE), "W", NULL,
     "Multiply the values of each input by its weight: --weight 1,-1 for two inputs."},
    {"icicle", 0, OPTION_FLAG, AT(icicle), IN(FLAME), NULL, NULL,
     "SVG: draw the root at the top instead of the bottom. A terminal always shows the root at "
     "the top."},
    {"inverted", 0, OPTION_FLAG, AT(inverted), IN(FLAME), NULL, NULL,
     "Start with the leaves and show their callers above them."},
    {"palette", 0, OPTION_CHOICE, AT(palette), IN(FLAME), "WHAT", "package library diff",
     "Meaning of the colours: package (default), library, or with --diff the change."},
    {"min-width", 0, OPTION_TEXT, AT(min_width), IN(FLAME), "PX", NULL,
     "SVG: omit boxes narrower than this (default 0.1); the picture states how many."},
    {"title", 0, OPTION_TEXT, AT(title), IN(FLAME), "TEXT", NULL,
     "SVG: the title (default: the name of the file)."},
    {"unit", 0, OPTION_TEXT, AT(unit), QUERIES, "UNIT", NULL,
     "Show values in this unit (ms, MB) instead of choosing a readable one."},
    {"width", 0, OPTION_COUNT, AT(width), QUERIES | IN(RUN) | IN(RECORD), "N", NULL,
     "Width of the output in columns (default: that of the terminal; unlimited if the output is "
     "not a terminal)."},
    {"no-pager", 0, OPTION_FLAG, AT(no_pager), QUERIES, NULL, NULL,
     "Do not page long output on a terminal with $PAGER (default: less)."},

    {"select", 0, OPTION_TEXT, AT(select), READERS, "SELECTOR", NULL,
     "Selector for a server or a store if the argument has no ?query=: "
     "cpu{service.name=\"shop\"} (docs/sources.md)."},
    {"token-file", 0, OPTION_PATH, AT(token_file), READERS, "FILE", NULL,
     "File with the token for a server that requires one (default: the variable KILN_TOKEN)."},
    {"man", 0, OPTION_FLAG, AT(man), IN(HELP), NULL, NULL, "Print the manual page as roff."},
    {"max-bytes", 0, OPTION_SIZE, AT(max_bytes), READERS, "SIZE", NULL,
     "Maximum size of an input, also after decompression (default 1GiB)."},
    {"max-payload", 0, OPTION_SIZE, AT(max_payload), READERS, "SIZE", NULL,
     "Maximum decompressed size of one payload of a framed input (default 256MiB)."},
    {"max-memory", 0, OPTION_SIZE, AT(max_memory), READERS, "SIZE", NULL,
     "Memory limit for the profiles of one input (default 4GiB, or half of the machine's "
     "memory)."},
    {"color", 0, OPTION_CHOICE, AT(color), ALL, "WHEN", "auto always never",
     "When to use colours: auto (default) means on a terminal, unless NO_COLOR is set."},
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
