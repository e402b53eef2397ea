/* The entry point of a test program; a fuzzer brings its own instead. */
#include "check.h"

int main(int argc, char **argv)
{
    return check_main(argc, argv);
}
