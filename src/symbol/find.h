/* symbol/find.h - which files on this machine belong to a binary that was running somewhere.
 *
 * What is taken must be the same binary: by GNU build id, Go build id or htlhash, whichever the
 * profile has; a profile without any takes the file of that name on trust.  Debug information is
 * looked for as gdb does: build-id directories, then .gnu_debuglink, then the file itself; and what debuginfod-find fetched
 * earlier.  Nothing is fetched from here. */
#pragma once
#include "objfile/build_id.h"
#include "sys/file.h"

typedef struct find_dirs {
    const char *const
        *v; /* what the user named, searched before /usr/lib/debug and /usr/local/lib/debug */
    size_t n;
    bool proven; /* only files that a build id proves to be what ran: none is taken on trust */
} find_dirs;

/* A binary as a profile knows it. */
typedef struct binary_id {
    str name;             /* path or file name */
    str gnu, go, htlhash; /* text; empty: not known */
} binary_id;

typedef struct found_file {
    char *path; /* NULL: none */
    file_bytes bytes;
    elf_file elf; /* memory from the arena given */
} found_file;

typedef struct found_files {
    found_file file;    /* what was running */
    found_file debug;   /* path NULL: none, or the file itself (debug_is_file) */
    found_file alt;     /* what dwz moved out */
    bool debug_is_file; /* the file has its debug information itself */
    bool differs;       /* a file of that name is another build */
    bool no_permission; /* a file of that name cannot be read */
    bool trusted;       /* no build id to compare with: taken by its name */
    bool unproven;      /* a file of that name is here and was not taken: nothing proves it */
    bool alt_missing;
} found_files;

/* Looks; never fails, what is not there has no path. */
void find_files(const binary_id *id, find_dirs dirs, arena *a, found_files *out);
void find_release(found_files *f);

const elf_file *found_debug(const found_files *f); /* NULL: none */
