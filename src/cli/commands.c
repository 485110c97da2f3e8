/* The table of commands: names, operands and texts.  --help, the man pages and the completion
 * scripts are generated from it, so that a text is written once. */
#include "cli/cli.h"

#include "base/ban.h"

static const command all_commands[COMMAND_COUNT] = {
    [COMMAND_RUN] =
        {
            .name = "run",
            .args = "PROGRAM [ARG]...",
            .summary = "run a program and show where its time goes",
            .about =
                "Runs a program with Kiln's profiler preloaded, without rebuilding it and "
                "without root. The program keeps its own input, output, signals and exit "
                "status, and processes that it starts are profiled as well. At the end kiln "
                "prints what was captured, what was lost, the overhead of the profiler and a "
                "table of functions to standard error, and writes PROGRAM.otlp and the "
                "report PROGRAM.html.\n\n"
                "A program that cannot preload libraries (statically linked, musl, setuid) is "
                "recorded from outside, as kiln record does; where that is not permitted, kiln "
                "exits with 3. Otherwise the exit status is that of the program; 126 if it cannot "
                "be executed, 127 "
                "if it is not found, and 3 if it succeeded but its profile could not be "
                "written.",
            .examples = {{"Find where the time goes", "kiln run ./app --its --options"},
                         {"Include waiting threads and allocations",
                          "kiln run --wall --heap ./app"},
                         {"Compare with the previous run", "kiln diff app.otlp.old app.otlp"},
                         {"Send the profiles of a server to a collector",
                          "kiln run --to http://localhost:4317 ./server"}},
            .operands = OPERAND_PROGRAM,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_run,
        },
    [COMMAND_RECORD] =
        {
            .name = "record",
            .args = "-p PID | -a | --cgroup DIR | PROGRAM [ARG]...",
            .summary = "record running processes, or the whole machine, from outside",
            .about = "Records processes without running code inside them: processes that already "
                     "run, statically linked programs, containers, or the whole machine. With BPF "
                     "(root, or CAP_BPF and CAP_PERFMON; Linux 5.19 or newer) the kernel unwinds "
                     "the stacks with Kiln's tables, and --off-cpu records each wait with its "
                     "duration. Without these privileges, perf events copy the stacks of your own "
                     "processes, and kiln unwinds the copies.\n\n"
                     "At the end kiln prints what was captured, what was lost, the cost of the "
                     "recorder and tables of functions to standard error, and writes "
                     "PROGRAM.otlp and the report PROGRAM.html. ^C ends the recording. The exit "
                     "status is 0 unless the recording failed; if kiln started a PROGRAM, it is "
                     "that of the program.",
            .examples = {{"Record a running process for half a minute",
                          "kiln record -p 4711 --duration 30s"},
                         {"Show what its threads wait for",
                          "kiln record -p 4711 --off-cpu --duration 10s"},
                         {"Record a statically linked program",
                          "kiln record -- ./app --its options"},
                         {"Profile a machine continuously",
                          "kiln record -a --off-cpu --off-cpu-min 1ms --to http://localhost:4040"}},
            .operands = OPERAND_PROGRAM,
            .min_args = 0,
            .max_args = SIZE_MAX,
            .run = cmd_record,
        },
    [COMMAND_INFO] =
        {
            .name = "info",
            .args = "FILE...",
            .summary = "show the contents of a profile file",
            .about = "Shows the format and the layout (with the evidence for it), the resources, "
                     "every profile with its type, time, samples and hottest function, the sizes "
                     "of the dictionary tables, what takes the most bytes, and the size after "
                     "gzip and zstd.\n\n"
                     "The format is detected from the bytes, never from the name. gzip and zstd "
                     "compression is removed automatically.",
            .examples = {{"Show the contents of a file", "kiln info app.otlp"},
                         {"Print the total of the first profile in a script",
                          "kiln info --json app.otlp | jq '.files[0].profiles[0].total'"},
                         {"Read from a pipe", "curl -s http://host/profile | kiln info -"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_info,
        },
    [COMMAND_TOP] =
        {
            .name = "top",
            .args = "FILE...",
            .summary = "show the functions that use the most time or memory",
            .about = "Prints one line per function: its own value (flat) and its value including "
                     "everything it called (cum). Several files are added up. Addresses without "
                     "names are looked up by build id in the binaries of this machine.\n\n"
                     "Options and numbers are those of `go tool pprof -top`.",
            .examples = {{"Find the hottest functions", "kiln top app.pprof"},
                         {"Sort by allocations, callees included",
                          "kiln top --sample-type alloc_space --cum heap.pprof"},
                         {"Show lines of one package during one request",
                          "kiln top --lines --focus '^shop/' --trace-id $ID app.otlp"},
                         {"Query the last hour of a server",
                          "kiln top 'http://localhost:4040?start=now-1h'"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_top,
        },
    [COMMAND_TREE] =
        {
            .name = "tree",
            .args = "FILE...",
            .summary = "show each function with its callers and callees",
            .about = "Prints one block per function: its callers above it and its callees below "
                     "it, each with the value of that call. Recursive calls count once.\n\n"
                     "Options and numbers are those of `go tool pprof -tree`.",
            .examples = {{"Show callers and callees of hot functions", "kiln tree app.pprof"},
                         {"Start at one function", "kiln tree --show-from ServeHTTP app.pprof"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_tree,
        },
    [COMMAND_PEEK] =
        {
            .name = "peek",
            .args = "PATTERN FILE...",
            .summary = "show callers and callees of matching functions",
            .about = "Like tree, but only for functions whose name matches the pattern, and "
                     "without omitting small callers and callees.",
            .examples = {{"Show the callers of malloc", "kiln peek '^malloc$' app.pprof"}},
            .operands = OPERAND_FILES,
            .min_args = 2,
            .max_args = SIZE_MAX,
            .run = cmd_peek,
        },
    [COMMAND_LIST] =
        {
            .name = "list",
            .args = "PATTERN FILE...",
            .summary = "show source code annotated with values",
            .about = "Prints the source of functions whose name matches the pattern, with the "
                     "flat and cumulative value of each line. kiln searches for source files in "
                     "the current directory and in --source-path.",
            .examples =
                {{"Find the expensive lines", "kiln list Handler.Parse app.pprof"},
                 {"Use sources from another directory",
                  "kiln list --source-path ~/src/app --trim-path /build/app parse app.pprof"}},
            .operands = OPERAND_FILES,
            .min_args = 2,
            .max_args = SIZE_MAX,
            .run = cmd_list,
        },
    [COMMAND_TRACES] =
        {
            .name = "traces",
            .args = "FILE...",
            .summary = "print every sample with its stack and attributes",
            .about = "Prints the samples one by one: attributes, value, and the stack from the "
                     "leaf to the root.",
            .examples = {{"Print the samples of one request",
                          "kiln traces --trace-id $ID app.otlp"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_traces,
        },
    [COMMAND_DIFF] =
        {
            .name = "diff",
            .args = "BEFORE AFTER",
            .summary = "show which costs changed between two profiles beyond noise",
            .about = "Compares the cost of the total and of each function, per run, per second or "
                     "per unit of work (--per). Each change is tested, and the tests together "
                     "keep the stated rate of false discoveries. --unchanged also shows the other "
                     "functions; --shares shows shares of the total, on which no verdict is "
                     "based.\n\n"
                     "With one recording per side kiln cannot measure how much runs of the same "
                     "program differ and assumes 5 % (--spread). With several recordings per side "
                     "(--before A... --after B...) it measures the difference.\n\n"
                     "In CI, --gate and --fail-on-regression make kiln exit with 4; a gate that "
                     "matches no frame makes it exit with 2. kiln prints the smallest growth that "
                     "these recordings could have shown.",
            .examples =
                {{"Compare two recordings", "kiln diff before.otlp after.otlp"},
                 {"Fail in CI, with five runs per side",
                  "kiln diff --fail-on-regression --before main*.otlp --after branch*.otlp"},
                 {"Enforce a limit",
                  "kiln diff --gate 'json::parse<=+10%' main.pprof branch.pprof"},
                 {"Compare the last hour of a store with the time before",
                  "kiln diff --per second 'store?end=now-1h' 'store?start=now-1h'"}},
            .operands = OPERAND_FILES,
            .min_args = 0, /* --before and --after name files, too */
            .max_args = 2,
            .run = cmd_diff,
        },
    [COMMAND_SERIES] =
        {
            .name = "series",
            .args = "FILE...",
            .summary = "show values over time",
            .about = "Prints the sum of the values in each step of time, based on the timestamps "
                     "of the samples. A file without timestamps gets one step per profile. -o "
                     "x.svg draws the series.\n\n"
                     "--heat draws a heat map instead, on the terminal or with -o x.svg. It shows "
                     "patterns within each second.",
            .examples = {{"Find busy periods", "kiln series app.otlp"},
                         {"Follow one function in a script",
                          "kiln series --json --step 100ms --focus parse app.otlp"},
                         {"Show patterns within a second", "kiln series --heat app.otlp"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_series,
        },
    [COMMAND_MERGE] =
        {
            .name = "merge",
            .args = "IN... OUT",
            .summary = "add several profiles up into one file",
            .about = "Reads several inputs and writes one. Profiles with equal resource, scope "
                     "and type become one profile, and samples with equal stack, attributes and "
                     "link become one sample. Of cumulative profiles that include each other only "
                     "the newest is used, so that nothing is counted twice.",
            .examples = {{"Merge the profiles of several hosts",
                          "kiln merge host*.pprof all.pb.gz"},
                         {"Subtract one profile from another",
                          "kiln merge --weight -1,1 before.pprof after.pprof diff.pb.gz"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_merge,
        },
    [COMMAND_CAT] =
        {
            .name = "cat",
            .args = "FILE...",
            .summary = "print a profile file as text",
            .about = "Prints every field of every message of any layout without interpreting it: "
                     "as YAML, as OTLP/JSON or in the protobuf text format.",
            .examples = {{"Page through a file", "kiln cat app.otlp | less"},
                         {"Print what protoc --decode would print",
                          "kiln cat --format text app.otlp"},
                         {"List the string table",
                          "kiln cat -f json app.otlp | jq '.dictionary.stringTable'"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_cat,
        },
    [COMMAND_CONVERT] =
        {
            .name = "convert",
            .args = "IN... OUT",
            .summary = "convert between formats, layouts and encodings",
            .about = "Reads one or more inputs and writes one output. Several inputs are merged: "
                     "profiles with equal resource, scope and type become one. The name of the "
                     "output determines its format (kiln formats lists the names); a further .gz "
                     "or .zst compresses it. - is standard input or output.\n\n"
                     "If nothing has to change, the bytes are copied unmodified. Everything that "
                     "the output format cannot represent is listed on standard error: the loss "
                     "ledger.",
            .examples = {{"Convert to JSON", "kiln convert app.otlp app.json"},
                         {"Write the input of flamegraph.pl", "kiln convert app.otlp app.folded"},
                         {"Merge two files and compress the result",
                          "kiln convert --canonical a.otlp b.otlp both.otlp.zst"},
                         {"Fail if anything would be lost",
                          "kiln convert --strict in.otlp out.otlp"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_convert,
        },
    [COMMAND_CHECK] =
        {
            .name = "check",
            .args = "FILE...",
            .summary = "check profiles against the specification",
            .about = "Checks data against every rule of its own specification (current OTLP "
                     "profiles, an older release, the arrays draft, the event proposal, call "
                     "stacks in log records). A violated MUST is an error, a violated SHOULD a "
                     "warning. Each finding has the rule, the path, what was found and what was "
                     "expected; equal findings are grouped.\n\n"
                     "Exits with 1 if there is an error.",
            .examples = {{"Check a file", "kiln check app.otlp"},
                         {"Check only references, in CI", "kiln check --only P-06 --json app.otlp"},
                         {"Repair a file", "kiln check --fix -o fixed.otlp app.otlp"},
                         {"Show the verdict of the SIG's profcheck",
                          "kiln check --profcheck app.otlp"}},
            .operands = OPERAND_FILES,
            .min_args = 0,
            .max_args = SIZE_MAX,
            .run = cmd_check,
        },
    [COMMAND_FLAME] =
        {
            .name = "flame",
            .args = "FILE...",
            .summary = "draw a profile as a flame graph",
            .about = "Draws a flame graph on the terminal or into a file.\n\n"
                     "-o x.svg writes one picture with zoom and search. It needs no network, and "
                     "it is readable without scripts. -o x.html writes the report: flame graph, "
                     "table, callers and callees, time views, labels, and the profile itself, "
                     "which kiln can read back (docs/report.md).\n\n"
                     "With --diff, red marks what grew since BASE and blue what shrank, as shares "
                     "of their profiles. The width of a box is the mean of both shares.",
            .examples = {{"Show a flame graph on the terminal", "kiln flame app.pprof"},
                         {"Write a picture", "kiln flame app.pb.gz -o app.svg"},
                         {"Write the HTML report", "kiln flame app.pb.gz -o app.html"},
                         {"Compare two profiles",
                          "kiln flame after.otlp --diff before.otlp -o diff.svg"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_flame,
        },
    [COMMAND_SYMBOLIZE] =
        {
            .name = "symbolize",
            .args = "IN -o OUT",
            .summary = "add names, files, lines and inlined calls to addresses",
            .about = "Reads a profile of any format and writes it with names for the addresses "
                     "that have none, using the binaries and debug files of this machine. A file "
                     "is used only if it is the same build. For each binary kiln prints to "
                     "standard error what was found, what is missing, and how to obtain it.\n\n"
                     "kiln indexes each binary once and stores the index below "
                     "XDG_CACHE_HOME/kiln/symbols.",
            .examples = {{"Add names to a recording of perf",
                          "kiln symbolize perf.data -o app.otlp"},
                         {"Use debug files from another directory",
                          "kiln symbolize --debug-dir ./symbols app.otlp -o named.pb.gz"},
                         {"List what is missing",
                          "kiln symbolize --json in.otlp -o out.otlp | jq '.binaries[].advice'"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = 2,
            .run = cmd_symbolize,
        },
    [COMMAND_CTX] =
        {
            .name = "ctx",
            .args = "PID",
            .summary = "show the OpenTelemetry context that a running process publishes",
            .about = "Prints the context that a process publishes for external profilers: its "
                     "resource (OTEP 4719) and, for each thread, the current trace, span and "
                     "attributes (OTEP 4947). Publishers are libkiln-span, Kiln's agent and other "
                     "SDKs.\n\n"
                     "kiln stops each thread with ptrace for a few microseconds, as the OTEP "
                     "requires; --no-threads stops none. This requires the rights of a debugger: "
                     "the same user, or CAP_SYS_PTRACE.",
            .examples = {{"Show what a process is working on", "kiln ctx $(pidof checkout)"},
                         {"Print its service name without stopping it",
                          "kiln ctx --no-threads --json 4711 | jq -r "
                          "'.process.resource.\"service.name\"'"}},
            .operands = OPERAND_PROCESS,
            .min_args = 1,
            .max_args = 1,
            .run = cmd_ctx,
        },
    [COMMAND_SEND] =
        {
            .name = "send",
            .args = "FILE... --to URL",
            .summary = "send profiles to an OpenTelemetry receiver",
            .about = "Reads profiles of any format, sends each file as one OTLP request over gRPC "
                     "or HTTP, and prints what the receiver accepted and rejected.\n\n"
                     "If the receiver is down or busy, kiln retries for a while and respects the "
                     "delay that the receiver requests; --spool keeps undelivered requests for "
                     "the next time. The OTEL_EXPORTER_OTLP_* variables provide the defaults of "
                     "the options.",
            .examples = {{"Send to a local collector over gRPC",
                          "kiln send app.pprof --to http://localhost:4317"},
                         {"Send over HTTP with TLS and a token",
                          "kiln send app.otlp --to https://example.com --header api-key=$KEY"},
                         {"Keep undelivered profiles for the next time",
                          "kiln send --spool ~/.cache/kiln/spool app.otlp --to http://host:4318"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_send,
        },
    [COMMAND_SERVE] =
        {
            .name = "serve",
            .args = "",
            .summary = "receive, store and query profiles",
            .about = "Receives profiles from any OpenTelemetry sender (OTLP over gRPC and HTTP, "
                     "every layout; Splunk's call stacks in logs; files of any format by POST "
                     "/upload), stores them in a directory, and serves queries and a web page. A "
                     "request is acknowledged when it is on disk.\n\n"
                     "By default kiln listens only on loopback addresses. An address that other "
                     "hosts can reach requires a certificate, tokens (--write-tokens and "
                     "--read-tokens) or --insecure. With a certificate, the server rejects "
                     "plaintext from other hosts. SIGTERM stops the server after the requests in "
                     "progress; SIGHUP reloads --config, tokens and certificates.",
            .examples = {{"Start a local server", "kiln serve"},
                         {"Accept other hosts, with TLS",
                          "kiln serve --listen :4317 --cert server.pem --store /var/lib/kiln"},
                         {"Check a configuration", "kiln serve --config kiln.yaml --check-config"}},
            .operands = OPERAND_NONE,
            .min_args = 0,
            .max_args = 0,
            .run = cmd_serve,
        },
    [COMMAND_STORE] =
        {
            .name = "store",
            .args = "ACTION DIR [FILE]...",
            .summary = "maintain the store of kiln serve",
            .about = "stats shows what a store contains; verify reads and checks everything; "
                     "compact moves the journal into columns; backup copies the store to a "
                     "directory that kiln serve can use (files of an earlier backup are not "
                     "copied again); export writes a selection, or everything, to a file; import "
                     "adds files of any format; symbolize looks up names for addresses by build "
                     "id.\n\n"
                     "stats, verify, backup, export and symbolize work while a server uses the "
                     "directory; compact and import require exclusive access. An export to OTLP "
                     "is a stream of messages in the format of the Collector's file exporter; "
                     "other formats get one profile file.",
            .examples = {{"Show size and contents", "kiln store stats data"},
                         {"Export one service as pprof",
                          "kiln store export --select 'cpu{service.name=shop}' data shop.pb.gz"},
                         {"Back up every night", "kiln store backup data /backup/kiln"},
                         {"Add names to profiles of a kernel profiler",
                          "kiln store symbolize --start now-1h --debug-dir /srv/debug data"}},
            .operands = OPERAND_FILES,
            .actions = "stats verify compact backup export import symbolize",
            .min_args = 2,
            .max_args = SIZE_MAX,
            .run = cmd_store,
        },
    [COMMAND_FORMATS] =
        {
            .name = "formats",
            .args = "",
            .summary = "list the formats and what they can represent",
            .about = "Prints every format with its name for --from and --to, whether it can be "
                     "read and written, the file names that imply it, and what it can and cannot "
                     "represent.",
            .examples =
                {{"List formats that keep timestamps",
                  "kiln formats --json | jq -r '.formats[]|select(.carries.timestamps).name'"}},
            .operands = OPERAND_NONE,
            .min_args = 0,
            .max_args = 0,
            .run = cmd_formats,
        },
    [COMMAND_HELP] =
        {
            .name = "help",
            .args = "[COMMAND]",
            .summary = "explain a command",
            .about = "Without a command, lists the commands.",
            .examples = {{"Explain convert", "kiln help convert"},
                         {"Show a manual page that is not installed",
                          "kiln help --man info | man -l -"}},
            .operands = OPERAND_COMMAND,
            .min_args = 0,
            .max_args = 1,
            .run = cmd_help,
        },
    [COMMAND_VERSION] =
        {
            .name = "version",
            .args = "",
            .summary = "print the version",
            .about = "Prints the version of kiln and the OTLP layouts that it reads and writes.",
            .examples = {{"Print the version", "kiln version"}},
            .operands = OPERAND_NONE,
            .min_args = 0,
            .max_args = 0,
            .run = cmd_version,
        },
    [COMMAND_COMPLETION] =
        {
            .name = "completion",
            .args = "bash|zsh",
            .summary = "print a completion script for the shell",
            .about = "Prints a script that lets the shell complete commands, options and their "
                     "values.",
            .examples = {{"Enable completion in this bash session",
                          "source <(kiln completion bash)"},
                         {"Install completion for zsh",
                          "mkdir -p ~/.zfunc && kiln completion zsh > ~/.zfunc/_kiln"}},
            .operands = OPERAND_SHELL,
            .min_args = 1,
            .max_args = 1,
            .run = cmd_completion,
        },
};

const command *commands(size_t *n)
{
    *n = COMMAND_COUNT;
    return all_commands;
}

const command *command_named(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(all_commands[i].name, name)) return &all_commands[i];
    return NULL;
}

command_id command_index(const command *c) { return (command_id)(c - all_commands); }
