/*
 * drivers/virtio/virtq_split.c: when to notify, when to be interrupted.
 * Virtio 1.3, sections 2.7.7, 2.7.10, 2.7.13 and 2.7.14.
 */
#include "rig.h"

static struct rig r;

/* By definition: was `event` one of old, old+1, ... now-1? */
static bool passed(uint16_t event, uint16_t now, uint16_t old)
{
    while (old != now)
        if (old++ == event)
            return true;
    return false;
}

/* BC-011: every step of up to 300, every event around it, at every wrap. */
TEST(event_formula_near)
{
    static const uint16_t from[] = {0, 1, 127, 128, 255, 256, 32767, 32768,
                                    65279, 65280, 65534, 65535};

    for (unsigned i = 0; i < sizeof(from) / sizeof(from[0]); i++)
        for (unsigned step = 0; step <= 300; step++)
            for (int e = -40; e <= 340; e++) {
                uint16_t old = from[i], now = (uint16_t)(old + step);
                uint16_t event = (uint16_t)(old + e);

                if (virtq_need_event(event, now, old) !=
                    passed(event, now, old))
                    check_fail(__FILE__, __LINE__, "event %u now %u old %u",
                               event, now, old);
            }
}

TEST(event_formula_everywhere)
{
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t x = plat_random();
        uint16_t old = (uint16_t)x, now = (uint16_t)(x >> 16);
        uint16_t event = (uint16_t)(x >> 32);

        CHECK_EQ(virtq_need_event(event, now, old), passed(event, now, old));
    }
}

static void set_avail_event(uint16_t event)
{
    atomic_store(r.vq.avail_event, event);
}

/* SPL-19: the doorbell rings iff the event was passed, for any batch. */
TEST(doorbell_by_event)
{
    rig_init(&r, 64, true);
    for (unsigned i = 0; i < 20000; i++) {
        uint16_t old = (uint16_t)plat_random();
        uint16_t event = (uint16_t)(old + plat_random() % 80 - 8);
        unsigned batch = (unsigned)(plat_random() % 9);
        uint32_t len;

        rig_preset(&r, old);
        for (unsigned k = 0; k < batch; k++)
            CHECK_EQ(rig_add(&r, k), V_OK);
        set_avail_event(event);
        atomic_store(&r.vq.used->flags, 1); /* ignored with EVENT_IDX */
        CHECK_EQ(virtq_publish(&r.vq),
                 passed(event, (uint16_t)(old + batch), old));
        CHECK(!virtq_publish(&r.vq));
        rig_complete(&r, 0);
        for (unsigned k = 0; k < batch; k++)
            CHECK(virtq_get(&r.vq, &len));
    }
    rig_end(&r);
}

/* SPL-18: by the flag, and avail_event ignored. */
TEST(doorbell_by_flag)
{
    rig_init(&r, 8, false);
    set_avail_event(4000);
    CHECK(!virtq_publish(&r.vq)); /* nothing was added */
    rig_add(&r, 0);
    CHECK(virtq_publish(&r.vq));
    atomic_store(&r.vq.used->flags, 1);
    rig_add(&r, 1);
    CHECK(!virtq_publish(&r.vq));
    atomic_store(&r.vq.used->flags, 0xfffe); /* reserved bits */
    rig_add(&r, 2);
    CHECK(virtq_publish(&r.vq));
    rig_end(&r);
}

/* A look at the used ring makes chains visible without a doorbell; the
 * doorbell must come with the next publishing all the same. */
TEST(doorbell_after_an_early_look)
{
    uint32_t len;

    for (int event = 0; event < 2; event++) {
        rig_init(&r, 8, event);
        rig_add(&r, 0);
        CHECK(!virtq_get(&r.vq, &len));
        CHECK(!virtq_pending(&r.vq));
        CHECK_EQ(atomic_load(&r.vq.avail->idx), 1);
        CHECK(virtq_publish(&r.vq));
        CHECK(!virtq_publish(&r.vq));
        rig_end(&r);
    }
}

/* The device finished the chain before it was officially published, and set
 * the event behind it: no doorbell needed. */
TEST(no_doorbell_when_the_device_was_faster)
{
    uint32_t len;

    rig_init(&r, 8, true);
    rig_add(&r, 0);
    CHECK(!virtq_get(&r.vq, &len));
    CHECK_EQ(rig_complete(&r, 3), 1);
    CHECK(virtq_get(&r.vq, &len));
    CHECK(!virtq_publish(&r.vq));
    rig_end(&r);
}

/* ---- interrupts --------------------------------------------------------- */

static void add(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        CHECK_EQ(rig_add(&r, i), V_OK);
    virtq_publish(&r.vq);
}

static void get_all(unsigned n)
{
    uint32_t len;

    for (unsigned i = 0; i < n; i++)
        CHECK(virtq_get(&r.vq, &len));
    CHECK(!virtq_get(&r.vq, &len));
}

/* BC-012: completion between the last look and the arming. */
TEST(arm_says_look_again)
{
    uint32_t len;

    for (int event = 0; event < 2; event++) {
        rig_init(&r, 8, event);
        add(2);
        CHECK(!virtq_get(&r.vq, &len));
        rig_complete(&r, 1);
        CHECK(!vring_wants_interrupt(&r.vr)); /* not armed yet: none comes */
        CHECK(virtq_arm(&r.vq, 0));
        CHECK(virtq_arm(&r.vq, 0)); /* as long as nobody looked */
        get_all(2);
        CHECK(!virtq_arm(&r.vq, 0));
        add(1);
        rig_complete(&r, 1);
        CHECK(vring_wants_interrupt(&r.vr)); /* armed: one comes */
        rig_end(&r);
    }
}

TEST(no_interrupt_before_the_first_arming)
{
    for (int event = 0; event < 2; event++) {
        rig_init(&r, 8, event);
        add(8);
        rig_complete(&r, 1);
        CHECK(!vring_wants_interrupt(&r.vr));
        rig_end(&r);
    }
}

/* Disarmed, even the largest ring can be used up without an interrupt. */
TEST(disarmed_is_silent)
{
    for (int event = 0; event < 2; event++) {
        for (unsigned n = 1; n <= VIRTQ_SIZE_MAX; n *= 32) {
            rig_init(&r, (uint16_t)n, event);
            rig_preset(&r, 0xfffe);
            CHECK(!virtq_arm(&r.vq, 0));
            virtq_disarm(&r.vq);
            add(n);
            rig_complete(&r, 1);
            CHECK(!vring_wants_interrupt(&r.vr));
            get_all(n);
            rig_end(&r);
        }
    }
}

/* With EVENT_IDX the interrupt comes at the chain asked for, not before. */
TEST(arm_after_some_more)
{
    for (unsigned after = 0; after < 8; after++) {
        rig_init(&r, 8, true);
        rig_preset(&r, 0xfffc);
        add(8);
        CHECK(!virtq_arm(&r.vq, (uint16_t)after));
        vring_see(&r.vr);
        for (unsigned i = 0; i < 8; i++) {
            vring_put(&r.vr, vring_take(&r.vr), 1);
            vring_publish(&r.vr);
            CHECK_EQ(vring_wants_interrupt(&r.vr), i == after);
        }
        rig_end(&r);
    }
}

/* Fewer than asked for are there already: no "look again", but all: yes. */
TEST(arm_after_counts_what_is_there)
{
    rig_init(&r, 8, true);
    add(8);
    vring_see(&r.vr);
    for (unsigned i = 0; i < 4; i++) {
        vring_put(&r.vr, vring_take(&r.vr), 1);
        vring_publish(&r.vr);
    }
    CHECK(!vring_wants_interrupt(&r.vr));
    CHECK(!virtq_arm(&r.vq, 4));
    CHECK(virtq_arm(&r.vq, 3));
    get_all(4);
    rig_end(&r);
}

/* SPL-13 is checked by the model at each look; here both values appear. */
TEST(avail_flags_by_mode)
{
    rig_init(&r, 8, false);
    CHECK_EQ(atomic_load(&r.vq.avail->flags), 1);
    virtq_arm(&r.vq, 5);
    CHECK_EQ(atomic_load(&r.vq.avail->flags), 0);
    virtq_disarm(&r.vq);
    CHECK_EQ(atomic_load(&r.vq.avail->flags), 1);
    rig_end(&r);
    rig_init(&r, 8, true);
    virtq_arm(&r.vq, 0);
    virtq_disarm(&r.vq);
    CHECK_EQ(atomic_load(&r.vq.avail->flags), 0);
    rig_end(&r);
}
