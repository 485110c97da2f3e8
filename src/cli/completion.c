/* Completion scripts for bash and zsh, from the option table. */
#include "cli/cli.h"

#include "base/ban.h"

/* One of a list, whoever keeps the list. */
static bool is_listed(const option_desc *d)
{
    return d->kind == OPTION_CHOICE || d->kind == OPTION_READS || d->kind == OPTION_WRITES;
}

static bool is_path(const option_desc *d)
{
    return d->kind == OPTION_PATH || d->kind == OPTION_MANY;
}

/* ---- bash ---- */

static void bash_options(buf *b, const command *c)
{
    size_t n;
    const option_desc *o = options(&n);
    for (size_t i = 0; i < n; i++) {
        if (!option_applies(&o[i], command_index(c))) continue;
        buf_printf(b, "--%s ", o[i].name);
        if (o[i].letter) buf_printf(b, "-%c ", o[i].letter);
    }
}

/* What follows an option, one case line each: values of a choice, or files. */
static void bash_values(buf *b)
{
    size_t n;
    const option_desc *o = options(&n);
    for (size_t i = 0; i < n; i++) {
        if (!option_has_value(&o[i]) || o[i].kind == OPTION_MAYBE) continue;
        buf_printf(b, "    --%s", o[i].name);
        if (o[i].letter) buf_printf(b, "|-%c", o[i].letter);
        if (is_listed(&o[i])) {
            buf_z(b, ") words='");
            option_choices(b, &o[i]);
            buf_z(b, "' ;;\n");
        } else {
            buf_printf(b, ") %s ;;\n", is_path(&o[i]) ? "files=1" : "return");
        }
    }
}

void completion_bash(buf *b)
{
    size_t n;
    const command *c = commands(&n);
    buf_z(b, "# bash completion of kiln, made by `kiln completion bash`\n"
             "_kiln() {\n"
             "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd= i words= "
             "files=\n"
             "  COMPREPLY=()\n"
             "  [[ $cur == '=' ]] && cur=\n"
             "  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
             "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
             "    case ${COMP_WORDS[i]} in -*) ;; *) cmd=${COMP_WORDS[i]}; break ;; esac\n"
             "  done\n"
             "  if [[ -z $cmd ]]; then\n    COMPREPLY=($(compgen -W '");
    for (size_t i = 0; i < n; i++) buf_printf(b, "%s ", c[i].name);
    buf_z(b, "--help --version' -- \"$cur\"))\n    return\n  fi\n  case $prev in\n");
    bash_values(b);
    buf_z(b, "  esac\n  if [[ -z $words && -z $files ]]; then\n    case $cmd in\n");
    for (size_t i = 0; i < n; i++) {
        buf_printf(b, "    %s)\n      if [[ $cur == -* ]]; then words='", c[i].name);
        bash_options(b, &c[i]);
        buf_z(b, "'\n      ");
        if (c[i].actions)
            buf_printf(b, "elif [[ $prev == %s ]]; then words='%s'\n      ", c[i].name,
                       c[i].actions);
        buf_z(b, "else ");
        if (c[i].operands == OPERAND_COMMAND) {
            buf_z(b, "words='");
            for (size_t k = 0; k < n; k++) buf_printf(b, "%s ", c[k].name);
            buf_z(b, "'");
        } else if (c[i].operands == OPERAND_SHELL) {
            buf_z(b, "words='bash zsh'");
        } else if (c[i].operands == OPERAND_PROCESS) {
            buf_z(b, "words=$(ps -eo pid=)");
        } else if (c[i].operands == OPERAND_PROGRAM) {
            buf_z(b, "words=$(compgen -c -- \"$cur\"; compgen -f -- \"$cur\")");
        } else {
            buf_z(b, c[i].operands == OPERAND_FILES ? "files=1" : ":");
        }
        buf_z(b, "; fi ;;\n");
    }
    buf_z(b, "    esac\n  fi\n"
             "  if [[ -n $files ]]; then\n"
             "    compopt -o filenames 2>/dev/null\n"
             "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
             "  else\n"
             "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
             "  fi\n"
             "}\n"
             "complete -F _kiln kiln\n");
}

/* ---- zsh ---- */

/* The first sentence of the help, safe inside '...[...]'. */
static void zsh_text(buf *b, const char *text)
{
    for (const char *p = text; *p && !(*p == '.' && (p[1] == ' ' || p[1] == '\0')); p++) {
        if (*p == '\'')
            buf_z(b, "'\\''");
        else if (*p == '[' || *p == ']' || *p == ':' || *p == '\\')
            buf_printf(b, "\\%c", *p);
        else
            buf_putc(b, *p);
    }
}

static void zsh_option(buf *b, const option_desc *d)
{
    const char *repeat = d->kind == OPTION_LIST || d->kind == OPTION_EACH ||
                                 d->kind == OPTION_MANY || d->kind == OPTION_TIMES
                             ? "*"
                             : "";
    for (int form = d->letter ? 0 : 1; form < 2; form++) {
        if (form == 0)
            buf_printf(b, "        '%s-%c%s[", repeat, d->letter, d->arg ? "+" : "");
        else
            buf_printf(b, "        '%s--%s%s[", repeat, d->name,
                       d->kind == OPTION_MAYBE ? "=-"
                       : d->arg                ? "="
                                               : "");
        zsh_text(b, d->help);
        buf_z(b, "]");
        if (d->arg) {
            buf_printf(b, d->kind == OPTION_MAYBE ? "::%s:" : ":%s:", d->arg);
            if (is_listed(d)) buf_putc(b, '('), option_choices(b, d), buf_putc(b, ')');
            if (is_path(d) || d->kind == OPTION_MAYBE) buf_z(b, "_files");
        }
        buf_z(b, "' \\\n");
    }
}

static void zsh_operands(buf *b, const command *c)
{
    size_t n;
    const command *all = commands(&n);
    if (c->actions) buf_printf(b, "        '1:action:(%s)' \\\n", c->actions);
    switch (c->operands) {
    case OPERAND_NONE: buf_z(b, "        && return\n"); break;
    case OPERAND_FILES: buf_z(b, "        '*:file:_files'\n"); break;
    case OPERAND_PROCESS: buf_z(b, "        '1:process:_pids'\n"); break;
    case OPERAND_PROGRAM:
        buf_z(b, "        '(-):program:_command_names -e' '*::argument:_normal'\n");
        break;
    case OPERAND_SHELL: buf_z(b, "        '1:shell:(bash zsh)'\n"); break;
    case OPERAND_COMMAND:
        buf_z(b, "        '1:command:(");
        for (size_t i = 0; i < n; i++) buf_printf(b, "%s%s", i ? " " : "", all[i].name);
        buf_z(b, ")'\n");
        break;
    }
}

void completion_zsh(buf *b)
{
    size_t n, n_options;
    const command *c = commands(&n);
    const option_desc *o = options(&n_options);
    buf_z(b, "#compdef kiln\n# zsh completion of kiln, made by `kiln completion zsh`\n"
             "_kiln() {\n"
             "  local -a commands=(\n");
    for (size_t i = 0; i < n; i++) {
        buf_printf(b, "    '%s:", c[i].name);
        zsh_text(b, c[i].summary);
        buf_z(b, "'\n");
    }
    buf_z(b, "  )\n"
             "  if (( CURRENT == 2 )); then\n"
             "    _describe command commands\n"
             "    return\n"
             "  fi\n"
             "  local cmd=$words[2]\n"
             "  shift words\n"
             "  (( CURRENT-- ))\n"
             "  case $cmd in\n");
    for (size_t i = 0; i < n; i++) {
        buf_printf(b, "    %s)\n      _arguments -s -S \\\n", c[i].name);
        for (size_t k = 0; k < n_options; k++)
            if (option_applies(&o[k], (command_id)i)) zsh_option(b, &o[k]);
        zsh_operands(b, &c[i]);
        buf_z(b, "      ;;\n");
    }
    buf_z(b, "  esac\n}\n"
             "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _kiln \"$@\"; else compdef "
             "_kiln kiln; fi\n");
}
