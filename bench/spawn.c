/* spawn N PROGRAM - starts the program N times by posix_spawn, one after another. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
    if (argc != 3) return fputs("usage: spawn N PROGRAM\n", stderr), 2;
    for (long n = strtol(argv[1], NULL, 10); n > 0; n--) {
        pid_t pid;
        char *const args[] = {argv[2], NULL};
        if (posix_spawn(&pid, argv[2], NULL, NULL, args, environ)) return perror(argv[2]), 1;
        if (waitpid(pid, NULL, 0) != pid) return perror("waitpid"), 1;
    }
    return 0;
}
