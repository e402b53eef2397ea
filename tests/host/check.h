/*
 * A test is a function; a failing check ends it.
 *
 *     TEST(ring_wraps)
 *     {
 *         CHECK_EQ(virtq_room(&vq), 8);
 *     }
 *
 * Every test runs in a process of its own (a child of the runner), on a
 * fresh platform (host.h), under a time limit. It ends with the platform's
 * leak check. A crash, a sanitizer report or the time limit fails that test
 * and no other.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct check_test {
    const char *name;
    const char *file;
    void (*fn)(void);
    struct check_test *next;
};

void check_register(struct check_test *t);

/* Runs the tests named in argv (or all); the exit status of main(). */
int check_main(int argc, char **argv);

/* The name of the running test; "" outside of one. */
const char *check_name(void);

/* Ends the running test as failed. */
_Noreturn void check_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void check_eq(const char *file, int line, const char *what, uintptr_t a,
              uintptr_t b);
void check_str_eq(const char *file, int line, const char *what, const char *a,
                  const char *b);
void check_mem_eq(const char *file, int line, const char *what, const void *a,
                  const void *b, unsigned long len);

#define TEST(id)                                                             \
    static void test_##id(void);                                             \
    __attribute__((constructor)) static void register_##id(void)             \
    {                                                                        \
        static struct check_test t = {#id, __FILE__, test_##id, 0};          \
        check_register(&t);                                                  \
    }                                                                        \
    static void test_##id(void)

#define CHECK(cond)                                                          \
    do {                                                                     \
        if (!(cond))                                                         \
            check_fail(__FILE__, __LINE__, "%s", #cond);                     \
    } while (0)

/* Integers or pointers; both values are printed. */
#define CHECK_EQ(a, b)                                                       \
    check_eq(__FILE__, __LINE__, #a " == " #b, (uintptr_t)(a), (uintptr_t)(b))

#define CHECK_STR_EQ(a, b)                                                   \
    check_str_eq(__FILE__, __LINE__, #a " == " #b, (a), (b))

/* The first differing byte is printed. */
#define CHECK_MEM_EQ(a, b, len)                                              \
    check_mem_eq(__FILE__, __LINE__, #a " == " #b, (a), (b), (len))

#endif
