/*
 * Sends datagrams at a rate, or as fast as they go: sendmmsg, in bursts.
 *
 *     udp_send ADDRESS PORT BYTES SECONDS PER-SECOND(0: no limit)
 *
 * Prints how many the kernel took, and the nanoseconds this lasted.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BURST 32u

static struct mmsghdr msgs[BURST];
static struct iovec iov;
static uint8_t bytes[65507];

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u),
                         (long)(ns % 1000000000u)};

    nanosleep(&t, NULL);
}

static int connected(const char *address, const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    int s = socket(AF_INET, SOCK_DGRAM, 0);

    to.sin_port = htons((uint16_t)atoi(port));
    if (s < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
        connect(s, (struct sockaddr *)&to, sizeof(to)) != 0) {
        perror("udp_send");
        exit(1);
    }
    return s;
}

/* Sends until `seconds` are over; never more than `rate` asks for so far. */
static uint64_t run(int s, uint64_t start, double seconds, double rate)
{
    uint64_t sent = 0, ns;

    while ((ns = now_ns() - start) < (uint64_t)(seconds * 1e9)) {
        int n;

        if (rate > 0 && (double)sent >= rate * (double)ns / 1e9) {
            sleep_ns(200000);
            continue;
        }
        n = sendmmsg(s, msgs, BURST, 0);
        if (n > 0)
            sent += (uint64_t)n;
    }
    return sent;
}

int main(int argc, char *argv[])
{
    uint64_t start, sent;
    int s;

    if (argc != 6) {
        fprintf(stderr, "udp_send: five arguments expected\n");
        return 2;
    }
    s = connected(argv[1], argv[2]);
    iov.iov_base = bytes;
    iov.iov_len = (size_t)atoi(argv[3]);
    if (iov.iov_len > sizeof(bytes))
        return 2;
    for (unsigned i = 0; i < BURST; i++)
        msgs[i].msg_hdr = (struct msghdr){.msg_iov = &iov, .msg_iovlen = 1};
    start = now_ns();
    sent = run(s, start, atof(argv[4]), atof(argv[5]));
    printf("%" PRIu64 " %" PRIu64 "\n", sent, now_ns() - start);
    return 0;
}
