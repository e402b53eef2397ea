/*
 * The test runner. Owns the list of tests and the processes they run in.
 *
 * A child that fails a check says so itself and exits with EXIT_REPORTED;
 * any other end of it, a signal or a sanitizer's exit status, is reported by
 * the parent.
 */
#include "check.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

#define EXIT_REPORTED 77
#define SECONDS_MAX 120u /* a test, sanitizers included */

static struct check_test *first;
static struct check_test **tail = &first;
static struct check_test *running;
static bool in_process; /* -n: no child processes, for debuggers */

void check_register(struct check_test *t)
{
    *tail = t;
    tail = &t->next;
}

const char *check_name(void)
{
    return running ? running->name : "";
}

_Noreturn void check_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    printf("FAIL %s %s:%d ", check_name(), file, line);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
    if (in_process)
        abort(); /* for a debugger to look around */
    _exit(EXIT_REPORTED);
}

void check_eq(const char *file, int line, const char *what, uintptr_t a,
              uintptr_t b)
{
    if (a != b)
        check_fail(file, line, "%s: %lld (0x%llx) and %lld (0x%llx)", what,
                   (long long)a, (unsigned long long)a, (long long)b,
                   (unsigned long long)b);
}

void check_str_eq(const char *file, int line, const char *what, const char *a,
                  const char *b)
{
    if (strcmp(a, b) != 0)
        check_fail(file, line, "%s: \"%s\" and \"%s\"", what, a, b);
}

void check_mem_eq(const char *file, int line, const char *what, const void *a,
                  const void *b, unsigned long len)
{
    const uint8_t *pa = a;
    const uint8_t *pb = b;

    for (unsigned long i = 0; i < len; i++)
        if (pa[i] != pb[i])
            check_fail(file, line, "%s: byte %lu of %lu is 0x%02x and 0x%02x",
                       what, i, len, pa[i], pb[i]);
}

static void run_here(struct check_test *t)
{
    running = t;
    host_begin();
    t->fn();
    host_end();
    running = NULL;
}

/* The child: its end is the verdict. Exits normally for the leak checker. */
static _Noreturn void run_child(struct check_test *t)
{
    signal(SIGALRM, SIG_DFL);
    alarm(SECONDS_MAX);
    run_here(t);
    exit(0);
}

static bool report(struct check_test *t, int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        printf("ok %s\n", t->name);
        return true;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_REPORTED)
        return false;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        printf("FAIL %s %s:1 not over after %u seconds\n", t->name, t->file,
               SECONDS_MAX);
    else if (WIFSIGNALED(status))
        printf("FAIL %s %s:1 ended by signal %d\n", t->name, t->file,
               WTERMSIG(status));
    else
        printf("FAIL %s %s:1 ended with exit status %d\n", t->name, t->file,
               WEXITSTATUS(status));
    return false;
}

static bool run(struct check_test *t)
{
    int status = 0;
    pid_t pid;

    fflush(NULL);
    if (in_process) {
        run_here(t);
        return report(t, 0);
    }
    pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(2);
    }
    if (pid == 0)
        run_child(t);
    while (waitpid(pid, &status, 0) != pid)
        ;
    return report(t, status);
}

static bool wanted(const struct check_test *t, int argc, char **argv)
{
    bool named = false;

    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-')
            continue;
        named = true;
        if (strcmp(argv[i], t->name) == 0)
            return true;
    }
    return !named;
}

/* A name that is no test must not pass as an empty success. */
static bool known(const char *name)
{
    for (struct check_test *t = first; t; t = t->next)
        if (strcmp(t->name, name) == 0)
            return true;
    return false;
}

static bool options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0)
            host_verbose = true;
        else if (strcmp(argv[i], "-n") == 0)
            in_process = true;
        else if (argv[i][0] == '-' || !known(argv[i]))
            return false;
    }
    return true;
}

int check_main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!options(argc, argv)) {
        fprintf(stderr, "usage: %s [-v log] [-n no child processes] "
                "[TEST...]\n", argv[0]);
        return 2;
    }
    for (struct check_test *t = first; t; t = t->next) {
        if (!wanted(t, argc, argv))
            continue;
        if (run(t))
            passed++;
        else
            failed++;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed || passed == 0;
}
