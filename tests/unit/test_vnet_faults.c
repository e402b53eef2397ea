/*
 * drivers/vnet against a device that fails or lies: the product of kinds of
 * device and faults. For every one: no access out of bounds (the sanitizer),
 * no buffer lost (rig_check at every turn), the counter of the reason goes up
 * by what it should, and traffic flows again afterwards.
 */
#include <pthread.h>
#include <stdio.h>

#include "vnet_rig.h"

#define BIT(name) VIRTIO_BIT(VIRTIO_NET_F_##name)
#define RX 0
#define TX 1

static uint8_t frame[70000];

static const uint64_t variants[] = {
    MODEL_FEATURES,
    MODEL_FEATURES & ~VIRTIO_BIT(VIRTIO_F_EVENT_IDX),
    MODEL_FEATURES & ~BIT(MRG_RXBUF),
    MODEL_FEATURES_MIN,
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

#define STAT(name) offsetof(struct vnet_stats, name)
#define NO_STAT SIZE_MAX

enum flags {
    REBUILDS = 1,  /* the device is reset once */
    MERGED = 2,    /* only with mergeable buffers; else nothing happens */
    ARRIVES = 4,   /* the frame is delivered all the same */
    LARGE = 8,     /* needs a frame of several buffers */
    UNCERTAIN = 16, /* what the driver makes of it is its own business */
};

struct expectation {
    enum fault fault;
    uint16_t q;
    size_t counter;
    unsigned by;
    unsigned flags;
};

static const struct expectation table[] = {
    {FAULT_ID_RANGE, RX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_ID_HUGE, RX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_ID_FREE, RX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_ID_REPEATED, RX, STAT(ring_broken), 1, REBUILDS | ARRIVES},
    {FAULT_IDX_JUMP, RX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_IDX_BACK, RX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_IDX_UNFOUNDED, RX, NO_STAT, 0, UNCERTAIN},
    {FAULT_LEN_OVER, RX, STAT(rx_drop_len_bad), 1, 0},
    {FAULT_LEN_HUGE, RX, STAT(rx_drop_len_bad), 1, 0},
    {FAULT_LEN_SIGN, RX, STAT(rx_drop_len_bad), 1, 0},
    {FAULT_LEN_ZERO, RX, STAT(rx_drop_short), 1, 0},
    {FAULT_LEN_SHORT, RX, STAT(rx_drop_short), 1, 0},
    {FAULT_LEN_HEADER, RX, STAT(rx_drop_short), 1, 0},
    {FAULT_DESC_SCRIBBLED, RX, NO_STAT, 0, ARRIVES},
    {FAULT_NUM_BUFFERS_ZERO, RX, STAT(rx_drop_num_buffers), 1, MERGED},
    {FAULT_NUM_BUFFERS_19, RX, STAT(rx_drop_incomplete), 1,
     MERGED | REBUILDS}, /* a frame may have as many */
    {FAULT_NUM_BUFFERS_EXACT, RX, STAT(rx_drop_num_buffers), 1, MERGED},
    {FAULT_NUM_BUFFERS_MAX, RX, STAT(rx_drop_num_buffers), 1, MERGED},
    {FAULT_NUM_BUFFERS_MORE, RX, STAT(rx_drop_incomplete), 1,
     MERGED | REBUILDS},
    {FAULT_MIDDLE_SHORT, RX, STAT(rx_drop_incomplete), 1, MERGED | LARGE},
    {FAULT_HALF_FRAME, RX, STAT(rx_drop_incomplete), 1,
     MERGED | LARGE | REBUILDS},
    {FAULT_FLAGS_JUNK, RX, NO_STAT, 0, ARRIVES},
    {FAULT_HDR_LEN_JUNK, RX, NO_STAT, 0, ARRIVES},
    {FAULT_GSO_JUNK, RX, STAT(rx_drop_gso), 1, 0},
    {FAULT_GSO_UNASKED, RX, STAT(rx_drop_gso), 1, 0},
    {FAULT_GSO_SIZE_ZERO, RX, STAT(rx_drop_gso), 1, 0},
    {FAULT_CSUM_OUTSIDE, RX, STAT(rx_drop_csum), 1, 0},
    {FAULT_CSUM_WRAPS, RX, STAT(rx_drop_csum), 1, 0},
    {FAULT_IRQ_LOST, RX, NO_STAT, 0, ARRIVES},
    {FAULT_IRQ_STORM, RX, NO_STAT, 0, ARRIVES},
    {FAULT_ID_RANGE, TX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_ID_HUGE, TX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_ID_FREE, TX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_ID_REPEATED, TX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_ID_MID_CHAIN, TX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_IDX_JUMP, TX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_IDX_BACK, TX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_IDX_UNFOUNDED, TX, STAT(ring_broken), 1, REBUILDS},
    {FAULT_LEN_OVER, TX, NO_STAT, 0, 0},
    {FAULT_LEN_HUGE, TX, NO_STAT, 0, 0},
    {FAULT_LEN_SHORT, TX, NO_STAT, 0, 0},
    {FAULT_DESC_SCRIBBLED, TX, NO_STAT, 0, 0},
    {FAULT_IRQ_STORM, TX, NO_STAT, 0, 0},
    {FAULT_NOTIFY_LOST, TX, STAT(tx_watchdog), 1, 0},
    {FAULT_NEEDS_RESET, TX, STAT(needs_reset), 1, REBUILDS},
    {FAULT_LINK_FLAPS, TX, NO_STAT, 0, UNCERTAIN},
};
#define ROWS (sizeof(table) / sizeof(table[0]))

static uint64_t stat(size_t offset)
{
    uint64_t val;

    if (offset == NO_STAT)
        return 0;
    memcpy(&val, (const uint8_t *)vnet_stats(rig.v) + offset, sizeof(val));
    return val;
}

/* All counters of lost frames and broken devices. */
static uint64_t losses(void)
{
    const struct vnet_stats *s = vnet_stats(rig.v);

    return s->rx_drop_len_bad + s->rx_drop_short + s->rx_drop_num_buffers +
           s->rx_drop_incomplete + s->rx_drop_nomem + s->rx_drop_gso +
           s->rx_drop_csum + s->ring_broken + s->needs_reset +
           s->tx_watchdog;
}

static void commit(const struct expectation *e)
{
    uint32_t len = e->flags & LARGE ? 9000 : 800;

    frame_make_raw(frame, 65000, 5);
    model_fault(rig.m, e->q, e->fault, 1);
    rig.m->num_buffers = 65609 / 1536 + 3; /* one more than a frame can have */
    if (e->q == TX) {
        CHECK_EQ(rig_send(frame, 800), V_OK);
        rig_turn();
    } else {
        CHECK(model_rx(rig.m, frame, len, NULL));
    }
    rig_settle();
    CHECK_EQ(model_fault_done(rig.m, e->q, e->fault), 1);
}

static void one_fault(const struct expectation *e, uint64_t features)
{
    bool merged = features & BIT(MRG_RXBUF);
    bool happens = !(e->flags & MERGED) || merged;
    uint64_t before, lost, resets;
    unsigned frames, finished;

    if ((e->flags & LARGE) && !merged)
        return;
    rig_start(features);
    rig_traffic(30);
    rig_turn();
    before = stat(e->counter);
    lost = losses();
    resets = vnet_stats(rig.v)->resets;
    frames = rig.frames;
    finished = rig.finished;
    commit(e);
    if (!(e->flags & UNCERTAIN)) {
        bool rebuilt = happens && (e->flags & REBUILDS);
        bool arrives = e->q == RX && (!happens || (e->flags & ARRIVES));

        if (happens)
            CHECK_EQ(stat(e->counter) - before, e->by);
        CHECK_EQ(losses() - lost, happens ? e->by : 0);
        CHECK_EQ(vnet_stats(rig.v)->resets - resets, rebuilt);
        CHECK_EQ(rig.frames - frames, arrives);
    }
    if (e->q == TX)
        CHECK_EQ(rig.finished - finished, 1);
    model_tx_discard(rig.m);
    rig_traffic(200);
    rig_turn();
    rig_stop();
}

static void product(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        for (unsigned k = 0; k < VARIANTS; k++) {
            if (host_verbose)
                printf("    %s on queue %u, device %u\n",
                       fault_name(table[i].fault), table[i].q, k);
            one_fault(&table[i], variants[k]);
        }
}

TEST(product_of_faults_and_devices_1)
{
    product(0, ROWS / 3);
}

TEST(product_of_faults_and_devices_2)
{
    product(ROWS / 3, 2 * ROWS / 3);
}

TEST(product_of_faults_and_devices_3)
{
    product(2 * ROWS / 3, ROWS);
}

/* ---- faults at the start ------------------------------------------------ */

TEST(open_fails_for_a_reason)
{
    static const struct {
        enum fault fault;
        uint16_t q;
        int result;
    } t[] = {
        {FAULT_FEATURES_REFUSED, 0, V_REFUSED},
        {FAULT_DRIVER_OK_REFUSED, 0, V_BADDEV},
        {FAULT_QUEUE_MAX_ZERO, RX, V_NODEV},
        {FAULT_QUEUE_MAX_ZERO, TX, V_NODEV},
        {FAULT_QUEUE_REFUSED, RX, V_REFUSED},
        {FAULT_QUEUE_REFUSED, TX, V_REFUSED},
        {FAULT_RESET_NEVER, 0, V_TIMEOUT},
        {FAULT_GONE, 0, V_NODEV},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        rig_model(MODEL_FEATURES);
        model_fault(rig.m, t[i].q, t[i].fault, FAULT_ALWAYS);
        CHECK_EQ(rig_open(NULL), t[i].result);
        CHECK(host_log_count("not usable") == i + 1);
        CHECK_EQ(host_dma_live(), 0);
        model_fault_none(rig.m); /* and it can be tried again */
        CHECK_EQ(rig_open(NULL), V_OK);
        rig_traffic(5);
        rig_stop();
    }
}

TEST(open_succeeds_all_the_same)
{
    static const struct {
        enum fault fault;
        unsigned times;
    } t[] = {{FAULT_RESET_SLOW, 100}, {FAULT_QUEUE_MAX_ODD, FAULT_ALWAYS},
             {FAULT_GENERATION, 5}, {FAULT_GENERATION, FAULT_ALWAYS}};

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        rig_model(MODEL_FEATURES);
        model_fault(rig.m, 0, t[i].fault, t[i].times);
        CHECK_EQ(rig_open(NULL), V_OK);
        rig_traffic(5);
        model_fault_none(rig.m);
        rig_stop();
    }
}

/* A failed last step after the queues are enabled, and then a reset that
 * never ends: the memory stays with the device, and nothing worse. */
TEST(open_fails_and_the_device_does_not_let_go)
{
    rig_model(MODEL_FEATURES);
    model_fault(rig.m, 0, FAULT_DRIVER_OK_REFUSED, 1);
    rig.m->stuck_after_start = true;
    CHECK_EQ(rig_open(NULL), V_BADDEV);
    CHECK(host_dma_live_bytes() > 256 * 1536);
    host_leak_baseline();
    model_free(rig.m);
}

/* ---- everything at once ------------------------------------------------- */

/*
 * A lie about a buffer that the driver has just given to the device cannot be
 * told from the truth; it is left to the product above, where it is timed so
 * that it can.
 */
static bool always_noticed(enum fault f)
{
    return f != FAULT_ID_REPEATED && f != FAULT_ID_FREE &&
           f != FAULT_IDX_UNFOUNDED;
}

static void random_fault(void)
{
    const struct expectation *e = &table[plat_random() % ROWS];

    if (!always_noticed(e->fault))
        return;
    model_fault(rig.m, e->q, e->fault, 1 + (unsigned)(plat_random() % 3));
    plat_log(LOG_DEBUG, "fault %s q %u", fault_name(e->fault), e->q);
}

static void random_round(void)
{
    uint32_t len = 14 + (uint32_t)(plat_random() % 1500);

    if (plat_random() % 16 == 0)
        random_fault();
    if (plat_random() % 64 == 0)
        host_fail_alloc(1 + (unsigned)(plat_random() % 4));
    for (uint64_t n = plat_random() % 8; n; n--)
        model_rx(rig.m, frame, plat_random() % 8 ? len : len * 30, NULL);
    for (uint64_t n = plat_random() % 8; n; n--)
        rig_send(frame, len);
    rig_turn();
    if (plat_random() % 2)
        rig_return((unsigned)(plat_random() % 40));
    rig.hold = plat_random() % 2;
    model_tx_discard(rig.m);
    host_now += plat_random() % 50000000;
}

static void soak(uint64_t features, unsigned rounds)
{
    rig_start(features);
    rig.m->tx_raw = true;
    frame_make_raw(frame, sizeof(frame), 1);
    for (unsigned i = 0; i < rounds; i++)
        random_round();
    model_fault_none(rig.m);
    host_fail_alloc(0);
    rig.hold = false;
    rig_return(rig.nheld);
    host_advance_ms(60000);
    rig_settle();
    model_tx_discard(rig.m);
    rig_traffic(50);
    rig_turn();
    CHECK_EQ(rig.out, 0);
    rig_stop();
}

TEST(random_faults_in_random_traffic)
{
    for (unsigned k = 0; k < VARIANTS; k++)
        for (unsigned seed = 1; seed <= 4; seed++) {
            host_seed(seed);
            soak(variants[k], 1500);
        }
}

/* NET-RX-14: headers change while they are read. */
static _Atomic bool stop_flipping;
static uint8_t *pages[2048];
static unsigned npages;

static void *flip(void *arg)
{
    uint32_t x = 1;

    (void)arg;
    while (!atomic_load_explicit(&stop_flipping, memory_order_relaxed)) {
        volatile uint8_t *p;

        x = x * 1664525u + 1013904223u;
        p = pages[(x >> 8) % npages];
        p[0] = (uint8_t)(x >> 24 & 3);
        p[1] = (uint8_t)(x >> 28 & 1);
        p[4] = (uint8_t)(x >> 16);
        p[6] = (uint8_t)(x >> 9);
        p[10] = (uint8_t)(x >> 27 & 3);
    }
    return NULL;
}

TEST(headers_that_change_all_the_time)
{
    pthread_t thread;
    const char *why;

    /* Every buffer is a page then, and its header at the beginning. */
    const struct vnet_config config = {.rx_size = VNET_RXBUF_PAGE};

    rig_model(MODEL_FEATURES);
    CHECK_EQ(rig_open(&config), V_OK);
    rig_traffic(300);
    npages = (unsigned)(rig.v->rx.frag.bytes / RXFRAG_PAGE);
    CHECK(npages > 200 && npages <= 2048);
    for (unsigned i = 0, n = 0; n < npages; i++) {
        const struct rxblock *b = &rig.v->rx.frag.blocks[i];

        for (uint32_t at = 0; at < b->size; at += RXFRAG_PAGE)
            pages[n++] = host_dma_view(b->dma + at, 12, true, &why);
    }
    rig.m->q[0].unchecked = true; /* it is the device that writes here */
    CHECK_EQ(pthread_create(&thread, NULL, flip, NULL), 0);
    frame_make_raw(frame, sizeof(frame), 1);
    for (unsigned i = 0; i < 20000; i++) {
        for (unsigned k = 0; k < 8; k++)
            model_rx(rig.m, frame, 100 + i % 8000, NULL);
        rig_turn();
        host_advance_ms(1);
    }
    atomic_store(&stop_flipping, true);
    pthread_join(thread, NULL);
    CHECK(rig.frames > 100);
    rig_settle();
    rig.m->q[0].unchecked = false;
    rig_stop();
}
