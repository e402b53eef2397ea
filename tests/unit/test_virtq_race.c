/*
 * Lost doorbells and lost interrupts: the driver's ring on one thread, the
 * device on another, both going to sleep as often as they can. Each sleeps
 * only after it has said what would wake it and has looked once more; if one
 * of them misses the other, both sleep for ever, and the test sees it.
 * Virtio 1.3, sections 2.7.13.4.1 and 2.7.14.
 */
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "rig.h"

#define ROUNDS 60000u
#define STUCK_S 20 /* much longer than being off the processor takes */

static struct rig r;
static _Atomic bool doorbell;
static _Atomic bool interrupt;
static _Atomic bool over;
static _Atomic bool stuck;
static bool polite; /* the device asks for doorbells only when it sleeps */

static double seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- both at the same moment -------------------------------------------- */

#define LITMUS_ROUNDS 100000u

static _Atomic uint32_t turn; /* rounds begun */
static _Atomic uint32_t ready;
static bool device_saw;
static bool about_interrupts;

static void spin_until(_Atomic uint32_t *word, uint32_t val)
{
    for (unsigned n = 1; atomic_load(word) != val; n++)
        if (n % 4096 == 0)
            sched_yield();
}

/* Lets the two threads go within nanoseconds of each other, now the one and
 * now the other a little earlier. */
static void start_together(uint32_t round, bool first)
{
    uint32_t delay = (round * 2654435761u >> 24) & (first ? 63 : 31);

    if (first) {
        spin_until(&ready, round);
        atomic_store(&turn, round);
    } else {
        atomic_store(&ready, round);
        spin_until(&turn, round);
    }
    while (delay--)
        atomic_signal_fence(memory_order_seq_cst);
}

static void *litmus_device(void *arg)
{
    (void)arg;
    for (uint32_t round = 1; round <= LITMUS_ROUNDS; round++) {
        struct vring_chain *c = NULL;

        if (about_interrupts) {
            vring_see(&r.vr);
            c = vring_take(&r.vr);
            vring_put(&r.vr, c, 1);
        }
        start_together(round, false);
        if (about_interrupts) {
            vring_publish(&r.vr);
            device_saw = vring_wants_interrupt(&r.vr);
        } else {
            device_saw = vring_want_doorbell(&r.vr, true);
        }
        atomic_store(&ready, round | 1u << 31);
        spin_until(&turn, round | 1u << 31);
    }
    return NULL;
}

static void meet(uint32_t round)
{
    spin_until(&ready, round | 1u << 31);
}

static void next(uint32_t round)
{
    atomic_store(&turn, round | 1u << 31);
}

/* The driver publishes while the device goes to sleep. */
static void litmus_doorbell(uint32_t round)
{
    uint32_t len;
    bool rang;

    CHECK_EQ(rig_add(&r, 0), V_OK);
    start_together(round, true);
    rang = virtq_publish(&r.vq);
    meet(round);
    if (!rang && !device_saw)
        check_fail(__FILE__, __LINE__, "doorbell lost in round %u", round);
    CHECK_EQ(rig_complete(&r, 1), 1);
    vring_want_doorbell(&r.vr, false);
    CHECK(virtq_get(&r.vq, &len));
    next(round);
}

/* The device finishes a chain while the driver goes to sleep. */
static void litmus_interrupt(uint32_t round)
{
    uint32_t len;
    bool again;

    start_together(round, true);
    again = virtq_arm(&r.vq, 0);
    meet(round);
    if (!again && !device_saw)
        check_fail(__FILE__, __LINE__, "interrupt lost in round %u", round);
    virtq_disarm(&r.vq);
    CHECK(virtq_get(&r.vq, &len));
    CHECK_EQ(rig_add(&r, 0), V_OK);
    virtq_publish(&r.vq);
    next(round);
}

static void litmus(bool event, bool interrupts)
{
    pthread_t thread;

    rig_init(&r, 1, event);
    about_interrupts = interrupts;
    if (interrupts) {
        CHECK_EQ(rig_add(&r, 0), V_OK);
        virtq_publish(&r.vq);
    } else {
        vring_want_doorbell(&r.vr, false);
    }
    atomic_store(&turn, 0);
    atomic_store(&ready, 0);
    CHECK_EQ(pthread_create(&thread, NULL, litmus_device, NULL), 0);
    for (uint32_t round = 1; round <= LITMUS_ROUNDS; round++)
        interrupts ? litmus_interrupt(round) : litmus_doorbell(round);
    pthread_join(thread, NULL);
    rig_end(&r);
}

TEST(publish_against_falling_asleep_event_index)
{
    litmus(true, false);
}

TEST(publish_against_falling_asleep_flags)
{
    litmus(false, false);
}

TEST(arm_against_completion_event_index)
{
    litmus(true, true);
}

TEST(arm_against_completion_flags)
{
    litmus(false, true);
}

/* ---- a long conversation ------------------------------------------------ */

/* Sleeps until the flag is set; false when it never is. */
static bool wait_for(_Atomic bool *flag)
{
    double t0 = 0;

    for (unsigned n = 0; !atomic_exchange(flag, false); n++) {
        if (atomic_load(&over) || atomic_load(&stuck))
            return false;
        sched_yield();
        if (n % 1024 != 1023)
            continue;
        if (t0 == 0)
            t0 = seconds();
        if (seconds() - t0 > STUCK_S) {
            atomic_store(&stuck, true);
            return false;
        }
    }
    return true;
}

static void *device(void *arg)
{
    struct vring_dev *vr = &r.vr;
    struct vring_chain *c;

    (void)arg;
    while (!atomic_load(&over)) {
        vring_see(vr);
        c = vring_take(vr);
        if (c) {
            vring_put(vr, c, c->writable);
            vring_publish(vr);
            if (vring_wants_interrupt(vr))
                atomic_store(&interrupt, true);
            continue;
        }
        if (vring_want_doorbell(vr, true))
            continue;
        if (!wait_for(&doorbell))
            break;
        if (polite)
            vring_want_doorbell(vr, false);
    }
    return NULL;
}

static unsigned get_all(void)
{
    uint32_t len;
    unsigned n = 0;
    void *c;

    while ((c = virtq_get(&r.vq, &len)) != NULL) {
        CHECK(number(c) < virtq_size(&r.vq));
        CHECK_EQ(len, 64);
        n++;
    }
    CHECK_EQ(virtq_fault(&r.vq), VIRTQ_OK);
    return n;
}

/* Adds up to `burst` chains under cookies that are not in use. */
static unsigned add_some(unsigned burst)
{
    unsigned n = 0;

    if (virtq_in_flight(&r.vq) != 0)
        return 0;
    while (n < burst && rig_add(&r, n) == V_OK)
        n++;
    if (virtq_publish(&r.vq))
        atomic_store(&doorbell, true);
    return n;
}

static void ping_pong(uint16_t size, bool event, bool suppress)
{
    unsigned added = 0, got = 0;
    pthread_t thread;

    polite = suppress;
    atomic_store(&over, false);
    atomic_store(&doorbell, false);
    atomic_store(&interrupt, false);
    rig_init(&r, size, event);
    CHECK_EQ(pthread_create(&thread, NULL, device, NULL), 0);
    while (got < ROUNDS) {
        unsigned n;

        added += add_some(1 + added % size);
        n = get_all();
        got += n;
        if (n > 0 || virtq_arm(&r.vq, 0))
            continue;
        if (!wait_for(&interrupt))
            check_fail(__FILE__, __LINE__, "asleep after %u of %u", got,
                       added);
        virtq_disarm(&r.vq);
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    CHECK(!atomic_load(&stuck));
    CHECK_EQ(got, added - virtq_in_flight(&r.vq));
    rig_end(&r);
}

TEST(nothing_is_lost_with_event_index)
{
    ping_pong(1, true, true);
    ping_pong(8, true, false);
}

TEST(nothing_is_lost_with_flags)
{
    ping_pong(1, false, true);
    ping_pong(8, false, false);
}
