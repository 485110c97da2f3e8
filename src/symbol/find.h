/* symbol/find.h - finds the files on this machine that belong to a binary in a profile.
 *
 * A file must be the same build, by GNU build id, Go build id or htlhash, whichever the profile
 * has. If the profile has none of them, the file of that name is used unverified. Debug information
 * is searched in the order of gdb: build-id directories, .gnu_debuglink, the file itself; then
 * files that debuginfod-find downloaded earlier. Nothing is downloaded here. */
#pragma once
#include "objfile/build_id.h"
#include "sys/file.h"

typedef struct find_dirs {
    /* Directories from the user, searched before /usr/lib/debug and /usr/local/lib/debug. */
    const char *const *v;
    size_t n;
    bool proven;      /* accept only files whose build id matches */
    const char *root; /* root directory of the recorded process, searched first; NULL: kiln's */
} find_dirs;

/* A binary as a profile describes it. */
typedef struct binary_id {
    str name;             /* path or file name */
    str gnu, go, htlhash; /* text; empty: not known */
} binary_id;

typedef struct found_file {
    char *path;       /* NULL: none.  With the root in front */
    const char *root; /* find_dirs.root if the file is below it, otherwise NULL */
    file_bytes bytes;
    elf_file elf; /* in the caller's arena */
} found_file;

typedef struct found_files {
    found_file file;    /* the binary */
    found_file debug;   /* path NULL: none, or the file itself (debug_is_file) */
    found_file alt;     /* the file that dwz moved parts of `debug` to */
    bool debug_is_file; /* the binary contains its debug information */
    bool differs;       /* a file of that name is another build */
    bool no_permission; /* a file of that name cannot be read */
    bool trusted;       /* no build id to compare: matched by name alone */
    bool unproven;      /* a file of that name exists but was rejected: no build id to compare */
    bool alt_missing;
} found_files;

/* Never fails: files that were not found have no path. */
void find_files(const binary_id *id, find_dirs dirs, arena *a, found_files *out);
/* Like find_files, but finds only the binary itself. */
void find_binary(const binary_id *id, find_dirs dirs, arena *a, found_files *out);
void find_release(found_files *f);

const elf_file *found_debug(const found_files *f); /* NULL: none */
