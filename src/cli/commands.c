/* The table of commands: what help, the man pages and the completions print. */
#include "cli/cli.h"

#include "base/ban.h"

static const command all_commands[COMMAND_COUNT] = {
    [COMMAND_RUN] =
        {
            .name = "run",
            .args = "PROGRAM [ARG]...",
            .summary = "run a program and show where its time went",
            .about =
                "Runs a program with Kiln's agent in it: no rebuild, no root. Its input, output, "
                "signals and exit status are its own. At the end it says what was captured, what "
                "was lost and what the agent itself took, shows a table of functions, and writes "
                "PROGRAM.otlp and the report PROGRAM.html. Processes that it starts are profiled "
                "with it. All of it goes to standard error.\n\n"
                "A program that nothing can be preloaded into (statically linked, setuid, for "
                "another machine) is not run; exit status 3. It is 126 when the program cannot be "
                "run, 127 when there is none, 3 when it was fine but its profile could not be "
                "written.",
            .examples = {{"Where does the time go?", "kiln run ./app --its --options"},
                         {"Who waits, who allocates?", "kiln run --wall --heap ./app"},
                         {"Compare with the run before", "kiln diff app.otlp.old app.otlp"},
                         {"A server, to a collector, as long as it runs",
                          "kiln run --to http://localhost:4317 ./server"}},
            .operands = OPERAND_PROGRAM,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_run,
        },
    [COMMAND_INFO] =
        {
            .name = "info",
            .args = "FILE...",
            .summary = "show what a profile file holds",
            .about = "Shows format and layout (with the evidence), resources, every profile with "
                     "its type, time, samples and hottest function, the sizes of the dictionary, "
                     "what dominates the bytes, and how small gzip and zstd would make them.\n\n"
                     "The format is guessed from the bytes, never from the name. gzip and zstd "
                     "around any input are taken off.",
            .examples = {{"What is in this file?", "kiln info app.otlp"},
                         {"Total of the first profile, for a script",
                          "kiln info --json app.otlp | jq '.files[0].profiles[0].total'"},
                         {"From a pipe", "curl -s http://host/profile | kiln info -"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_info,
        },
    [COMMAND_TOP] =
        {
            .name = "top",
            .args = "FILE...",
            .summary = "show where the time, memory or work went: a table of functions",
            .about =
                "Prints a line for each function: its own value (flat), and that of everything "
                "it called as well (cum). Several files are added up. Addresses that came without "
                "names are looked up in the binaries of this machine, by their build ids.\n\n"
                "Options are those of `go tool pprof -top`, and so are the numbers.",
            .examples = {{"Where did the time go?", "kiln top app.pprof"},
                         {"Who allocates, including what is called?",
                          "kiln top --sample-type alloc_space --cum heap.pprof"},
                         {"Lines of one package, for one request",
                          "kiln top --lines --focus '^shop/' --trace-id $ID app.otlp"},
                         {"Of a server, the last hour",
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
            .about = "Prints a block for each function: the callers above it, the callees below "
                     "it, with what went through each call. Recursion counts once.\n\n"
                     "Options are those of `go tool pprof -tree`, and so are the numbers.",
            .examples = {{"Callers and callees of what is hot", "kiln tree app.pprof"},
                         {"Only what happens below a function",
                          "kiln tree --show-from ServeHTTP app.pprof"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_tree,
        },
    [COMMAND_PEEK] =
        {
            .name = "peek",
            .args = "PATTERN FILE...",
            .summary = "show callers and callees of functions that match",
            .about = "As tree, for the functions whose name matches the pattern, with nothing left "
                     "out.",
            .examples = {{"Who calls malloc?", "kiln peek '^malloc$' app.pprof"}},
            .operands = OPERAND_FILES,
            .min_args = 2,
            .max_args = SIZE_MAX,
            .run = cmd_peek,
        },
    [COMMAND_LIST] =
        {
            .name = "list",
            .args = "PATTERN FILE...",
            .summary = "show source code with values beside the lines",
            .about = "Prints the source of functions whose name matches, with the flat and "
                     "cumulative value of each line. Sources are looked for in the current "
                     "directory and in --source-path.",
            .examples =
                {{"Which line is it?", "kiln list Handler.Parse app.pprof"},
                 {"Sources of another checkout",
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
            .about =
                "Prints the samples one by one: attributes, value, and the stack from the leaf "
                "to the root.",
            .examples = {{"All samples of a request", "kiln traces --trace-id $ID app.otlp"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_traces,
        },
    [COMMAND_DIFF] =
        {
            .name = "diff",
            .args = "BEFORE AFTER",
            .summary = "show what changed in cost between two profiles beyond noise",
            .about =
                "Compares what the total and each function cost, per run, per second or per what "
                "--per "
                "says. Each change is tested, and the tests together keep the stated rate of false "
                "discoveries. --unchanged shows the rest; --shares shows shares, which are never a "
                "verdict.\n\n"
                "Of one recording a side it is not known how much runs of the same program differ: "
                "5 % "
                "is assumed (--spread). --before A... --after B... takes several recordings a side "
                "and "
                "measures it.\n\n"
                "For CI: --gate and --fail-on-regression exit with 4, and a gate that names "
                "nothing "
                "with 2. The smallest growth that these runs could show is printed, so that "
                "silence "
                "can be judged.",
            .examples =
                {{"What did the change do?", "kiln diff before.otlp after.otlp"},
                 {"In CI, five runs a side",
                  "kiln diff --fail-on-regression --before main*.otlp --after branch*.otlp"},
                 {"Hold a budget", "kiln diff --gate 'json::parse<=+10%' main.pprof branch.pprof"},
                 {"Of a store, this hour and before",
                  "kiln diff --per second 'store?end=now-1h' 'store?start=now-1h'"}},
            .operands = OPERAND_FILES,
            .min_args = 0, /* --before and --after take them, too */
            .max_args = 2,
            .run = cmd_diff,
        },
    [COMMAND_SERIES] =
        {
            .name = "series",
            .args = "FILE...",
            .summary = "show the values over time",
            .about =
                "Prints the sum of the values in each step of time, from the timestamps of the "
                "samples; of files without timestamps, one step for each profile. -o x.svg draws "
                "it.\n\n"
                "--heat draws a heat map instead: what happens every second and what happened "
                "once, on the terminal or with -o x.svg.",
            .examples = {{"When was it busy?", "kiln series app.otlp"},
                         {"A function over time, for a script",
                          "kiln series --json --step 100ms --focus parse app.otlp"},
                         {"Patterns below a second", "kiln series --heat app.otlp"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_series,
        },
    [COMMAND_MERGE] =
        {
            .name = "merge",
            .args = "IN... OUT",
            .summary = "add profiles up into one file",
            .about = "Reads several inputs and writes one: profiles of equal resource, scope and "
                     "type become one, and so do samples of equal stack, attributes and link. "
                     "Profiles that say they are cumulative are turned into differences first, so "
                     "that nothing counts twice.",
            .examples = {{"One profile of many", "kiln merge host*.pprof all.pb.gz"},
                         {"What came after minus what was before",
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
            .about = "Prints every field of every message, in any layout, without interpreting it: "
                     "yaml for reading, json as OTLP/JSON, text as the protobuf text format.",
            .examples = {{"Look at a file", "kiln cat app.otlp | less"},
                         {"As protoc --decode would print it", "kiln cat --format text app.otlp"},
                         {"Names in the string table",
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
                     "profiles of equal resource, scope and type become one. The output's name "
                     "decides its format (kiln formats lists the names); .gz and .zst behind it "
                     "compress. - is standard input or output.\n\n"
                     "When there is nothing to change the bytes are copied as they are. What the "
                     "output cannot carry is listed on standard error: the loss ledger.",
            .examples = {{"To JSON", "kiln convert app.otlp app.json"},
                         {"A flame graph's input", "kiln convert app.otlp app.folded"},
                         {"Small and tidy", "kiln convert --canonical a.otlp b.otlp both.otlp.zst"},
                         {"Refuse to lose anything", "kiln convert --strict in.otlp out.otlp"}},
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
            .about =
                "Holds data against every rule of its own document (today's OTLP profiles, an "
                "older "
                "release, the arrays draft, the event proposal, call stacks in log records): MUST "
                "is an "
                "error, SHOULD a warning. Each finding has the rule, the place, what was found "
                "and what is expected; findings are grouped, so that a broken file prints a "
                "page and not a flood.\n\n"
                "Exits with 1 when there is an error.",
            .examples = {{"Check a file", "kiln check app.otlp"},
                         {"In CI, errors about indices only",
                          "kiln check --only P-06 --json app.otlp"},
                         {"Repair what can be repaired", "kiln check --fix -o fixed.otlp app.otlp"},
                         {"What the SIG's tool would say", "kiln check --profcheck app.otlp"}},
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
            .about =
                "Draws a profile as a flame graph: on the terminal, or as a file.\n\n"
                "-o x.svg is one picture that zooms and searches, without network and readable "
                "without scripts. -o x.html is the report: flame graph, table, callers and "
                "callees, time views, labels, and the profile itself, which kiln reads back "
                "(docs/report.md).\n\n"
                "With --diff red is what grew since BASE and blue what shrank, as shares of their "
                "profiles; boxes are as wide as the mean of both.",
            .examples = {{"Where did the time go?", "kiln flame app.pprof"},
                         {"A picture for a colleague", "kiln flame app.pb.gz -o app.svg"},
                         {"The report", "kiln flame app.pb.gz -o app.html"},
                         {"What changed?", "kiln flame after.otlp --diff before.otlp -o diff.svg"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_flame,
        },
    [COMMAND_SYMBOLIZE] =
        {
            .name = "symbolize",
            .args = "IN -o OUT",
            .summary = "give addresses names, files, lines and inlined calls",
            .about = "Reads a profile of any format and writes it with names for the addresses "
                     "that have none, from the binaries and debug files of this machine. A file "
                     "is used only when it is the build that ran. What was found and what was "
                     "not is said on standard error, binary by binary, with the one thing to "
                     "do.\n\n"
                     "The first look at a binary makes an index of it, which is kept below "
                     "XDG_CACHE_HOME/kiln/symbols.",
            .examples = {{"A recording of perf", "kiln symbolize perf.data -o app.otlp"},
                         {"With debug files from elsewhere",
                          "kiln symbolize --debug-dir ./symbols app.otlp -o named.pb.gz"},
                         {"What is missing?",
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
            .summary = "show what a running process has published about itself",
            .about = "Prints the context that a process publishes for profilers outside: who it is "
                     "(OTEP 4719) and, thread by thread, the trace, span and attributes it works "
                     "on (OTEP 4947), whoever published them: libkiln-span, Kiln's agent or "
                     "another SDK.\n\n"
                     "Each thread is stopped for some microseconds by ptrace, as the OTEP asks; "
                     "--no-threads stops none. It takes the rights of a debugger: the same user, "
                     "or CAP_SYS_PTRACE.",
            .examples = {{"What is it working on?", "kiln ctx $(pidof checkout)"},
                         {"Its service name, without stopping it",
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
            .summary = "send profiles to a receiver of OpenTelemetry",
            .about = "Reads profiles of any format and sends each file as one OTLP request, over "
                     "gRPC or HTTP, and says what the receiver accepted and what it rejected.\n\n"
                     "A receiver that is down or busy is tried again for a while, as it asks; "
                     "--spool keeps what could not be delivered for the next time. The "
                     "OTEL_EXPORTER_OTLP_* variables are followed where no option says "
                     "otherwise.",
            .examples = {{"To a collector on this machine, by gRPC",
                          "kiln send app.pprof --to http://localhost:4317"},
                         {"By HTTP with TLS and a token",
                          "kiln send app.otlp --to https://example.com --header api-key=$KEY"},
                         {"Today or tomorrow",
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
            .summary = "receive profiles, keep them and answer questions about them",
            .about = "Takes profiles from any OpenTelemetry sender (OTLP over gRPC and HTTP, every "
                     "layout; Splunk's call "
                     "stacks in logs; files of any format by POST /upload), keeps them in a "
                     "directory and answers. A "
                     "request is acknowledged when it is on disk.\n\n"
                     "Listens on this machine's own addresses unless told otherwise; one that "
                     "others reach wants a "
                     "certificate, tokens (--write-tokens and --read-tokens) or --insecure. With a "
                     "certificate no plaintext is taken there. SIGTERM ends it after what is under "
                     "way; SIGHUP reads "
                     "--config, tokens and certificates again.",
            .examples = {{"A place to send profiles", "kiln serve"},
                         {"Elsewhere, with TLS",
                          "kiln serve --listen :4317 --cert server.pem --store /var/lib/kiln"},
                         {"Would this do?", "kiln serve --config kiln.yaml --check-config"}},
            .operands = OPERAND_NONE,
            .min_args = 0,
            .max_args = 0,
            .run = cmd_serve,
        },
    [COMMAND_STORE] =
        {
            .name = "store",
            .args = "ACTION DIR [FILE]...",
            .summary = "look after a directory that kiln serve fills",
            .about =
                "stats shows what is in it, verify reads everything and checks it, compact "
                "turns what was just received into columns, backup copies it to a directory that "
                "kiln "
                "serve can use (files that an earlier copy has are not copied again), export "
                "writes a selection (or "
                "everything) to a file, import adds files of any format, symbolize finds names "
                "for addresses that came without, by their build ids.\n\n"
                "stats, verify, backup, export and symbolize may be used while a server writes the "
                "directory; "
                "compact and import want it for themselves. An export to OTLP is a stream "
                "of messages as the Collector's file exporter writes it; other formats get "
                "one profile file.",
            .examples = {{"How large, and of what?", "kiln store stats data"},
                         {"One service as pprof",
                          "kiln store export --select 'cpu{service.name=shop}' data shop.pb.gz"},
                         {"A copy, every night", "kiln store backup data /backup/kiln"},
                         {"Names for what a kernel profiler sent",
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
            .summary = "list the formats and what they carry",
            .about = "Prints every format with its name for --from and --to, what can be done with "
                     "it, the names of files that mean it, and what it can and cannot carry.",
            .examples =
                {{"Which formats keep timestamps?",
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
            .about = "Without a command: the list of commands.",
            .examples = {{"How does convert work?", "kiln help convert"},
                         {"The manual page, without installing",
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
            .about = "Prints the version of kiln and the OTLP layouts it reads and writes.",
            .examples = {{"Which version is this?", "kiln version"}},
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
            .about =
                "Prints a script that makes the shell complete commands, options and their values.",
            .examples = {{"bash, for this session", "source <(kiln completion bash)"},
                         {"zsh, for good",
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
