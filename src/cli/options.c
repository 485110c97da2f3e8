#include "cli/options.h"

#include "cli/cli.h"
#include "format/format.h"
#include "base/ban.h"

/* ---- the table ---- */

#define IN(c) (1u << COMMAND_##c)
#define ALL ((1u << COMMAND_COUNT) - 1)
#define READERS (IN(INFO) | IN(CAT) | IN(CONVERT) | IN(CHECK) | IN(FLAME))
#define AT(field) offsetof(cli_options, field)

#define LAYOUTS "1.3 1.4 1.5 1.6 1.7 1.8 1.9 1.10 1.11 current"

static const option_desc all_options[] = {
    {"json", 0, OPTION_FLAG, AT(json), IN(INFO), NULL, NULL,
     "Print JSON for machines: a stable, versioned form (docs/info.md)."},
    {"json", 0, OPTION_FLAG, AT(json), IN(CHECK), NULL, NULL,
     "Print the findings as JSON (docs/check.md)."},
    {"json", 0, OPTION_FLAG, AT(json), IN(CONVERT), NULL, NULL,
     "Print the loss ledger as JSON on standard output."},
    {"format", 'f', OPTION_CHOICE, AT(format), IN(CAT), "FORM", "yaml json text arrays-yaml",
     "How to print: yaml (default, for reading), json (OTLP/JSON), text (protobuf text format, "
     "as protoc --decode prints it), arrays-yaml (any format, in the first draft's own shape)."},
    {"output", 'o', OPTION_PATH, AT(output), IN(CONVERT) | IN(CHECK) | IN(FLAME), "FILE", NULL,
     "Where to write; - is standard output. The file appears whole or not at all."},
    {"json", 0, OPTION_FLAG, AT(json), IN(FORMATS), NULL, NULL,
     "Print the table as JSON (docs/formats.md)."},
    {"from", 0, OPTION_READS, AT(from), READERS, "FORMAT", NULL,
     "Read the input as this format instead of looking at its bytes (kiln formats)."},
    {"to", 't', OPTION_WRITES, AT(to), IN(CONVERT), "FORMAT", NULL,
     "Write this format instead of the one the output's name suggests. original gives back the "
     "file that --keep-original kept."},
    {"to", 't', OPTION_CHOICE, AT(to), IN(FLAME), "PICTURE", "html",
     "Which picture to write, instead of the one the output's name suggests."},
    {"diff", 'd', OPTION_PATH, AT(diff), IN(FLAME), "BASE", NULL,
     "Compare with this profile: what grew since BASE and what shrank."},
    {"layout", 0, OPTION_CHOICE, AT(layout), READERS, "RELEASE", LAYOUTS,
     "Read OTLP in the layout of this opentelemetry-proto release instead of finding it out."},
    {"canonical", 0, OPTION_FLAG, AT(canonical), IN(CONVERT), NULL, NULL,
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
    {"keep-original", 0, OPTION_FLAG, AT(keep_original), IN(CONVERT), NULL, NULL,
     "Put the input itself into the profile (JFR, perf.data)."},
    {"no-extras", 0, OPTION_FLAG, AT(no_extras), IN(CONVERT), NULL, NULL,
     "Leave out the attributes named kiln.*, which carry what OTLP has no field for."},
    {"timestamps", 0, OPTION_FLAG, AT(timestamps), IN(CONVERT), NULL, NULL,
     "pprof: a sample for each timestamp, with a label, instead of their sum."},
    {"thread-frames", 0, OPTION_FLAG, AT(thread_frames), IN(CONVERT), NULL, NULL,
     "folded, collapsed: begin every stack with its thread."},
    {"percent", 0, OPTION_FLAG, AT(percent), IN(CONVERT), NULL, NULL,
     "folded, collapsed: percent-encode what a name may not hold, and decode it on reading."},
    {"strict", 0, OPTION_FLAG, AT(strict), IN(CONVERT), NULL, NULL,
     "Write nothing and exit with 1 when anything would be lost."},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), IN(CONVERT) | IN(CHECK), NULL, NULL,
     "Say nothing unless something fails."},
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
    {"man", 0, OPTION_FLAG, AT(man), IN(HELP), NULL, NULL, "Print the manual page as roff."},
    {"max-bytes", 0, OPTION_SIZE, AT(max_bytes), READERS, "SIZE", NULL,
     "Most bytes an input may have, also after decompression (default 1GiB)."},
    {"max-payload", 0, OPTION_SIZE, AT(max_payload), READERS, "SIZE", NULL,
     "Most bytes one compressed payload inside a framed input may become (default 256MiB)."},
    {"max-memory", 0, OPTION_SIZE, AT(max_memory), READERS, "SIZE", NULL,
     "Most memory the profiles of one input may take (default 4GiB)."},
    {"color", 0, OPTION_CHOICE, AT(color), ALL, "WHEN", "auto always never",
     "Colours: auto (default) means on a terminal, unless NO_COLOR is set."},
    {"help", 'h', OPTION_FLAG, AT(help), ALL, NULL, NULL, "Show this help."},
};

static const command all_commands[COMMAND_COUNT] = {
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
                "Holds data against every rule of the OTLP profiles specification: MUST is an "
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
                "Draws a picture of a profile. -o x.html writes the report: one file that needs "
                "no network, with flame graph, table, callers and callees, time views, labels "
                "and search, and that kiln reads back like any other profile "
                "(docs/report.md).\n\n"
                "Several inputs are merged as kiln convert does it. With --diff the report "
                "holds both profiles and opens with what changed.",
            .examples = {{"A report to send to a colleague", "kiln flame app.pb.gz -o app.html"},
                         {"What changed?", "kiln flame after.otlp --diff before.otlp -o diff.html"},
                         {"The data of a report", "kiln convert app.html app.otlp"}},
            .operands = OPERAND_FILES,
            .min_args = 1,
            .max_args = SIZE_MAX,
            .run = cmd_flame,
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
                         {"zsh, for good", "kiln completion zsh > ~/.zfunc/_kiln"}},
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

const option_desc *options(size_t *n)
{
    *n = ARRAY_LEN(all_options);
    return all_options;
}

const command *command_named(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(all_commands[i].name, name)) return &all_commands[i];
    return NULL;
}

command_id command_index(const command *c) { return (command_id)(c - all_commands); }

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
