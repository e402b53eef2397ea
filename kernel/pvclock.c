/* Reads the time record of a hypervisor. Pure; also in a unit test. */
#include "pvclock.h"

/* A version that stays odd means a record that is nobody's. */
#define TRIES 1000

struct copy {
    uint64_t tsc;
    uint64_t ns;
    uint32_t mult;
    int shift;
};

static struct copy read_record(const struct pvclock *p)
{
    struct copy c;

    for (int i = 0; i < TRIES; i++) {
        uint32_t v = atomic_load_explicit(&p->version, memory_order_acquire);

        c.tsc = atomic_load_explicit(&p->tsc, memory_order_acquire);
        c.ns = atomic_load_explicit(&p->ns, memory_order_acquire);
        c.mult = atomic_load_explicit(&p->mult, memory_order_acquire);
        c.shift = atomic_load_explicit(&p->shift, memory_order_acquire);
        if ((v & 1) == 0 &&
            v == atomic_load_explicit(&p->version, memory_order_relaxed))
            break;
    }
    return c;
}

uint64_t pvclock_ns(const struct pvclock *p, uint64_t (*counter)(void))
{
    struct copy c = read_record(p);
    uint64_t delta = counter() - c.tsc;

    /* A counter behind the record's (another processor's) counts as equal. */
    if (delta > UINT64_MAX / 2)
        delta = 0;
    if (c.shift > 31 || c.shift < -31)
        c.shift = 0;
    delta = c.shift >= 0 ? delta << c.shift : delta >> -c.shift;
    return c.ns + (uint64_t)(((unsigned __int128)delta * c.mult) >> 32);
}

uint64_t pvclock_hz(const struct pvclock *p)
{
    struct copy c = read_record(p);
    uint64_t hz;

    if (c.mult == 0 || c.shift > 31 || c.shift < -31)
        return 0;
    hz = (UINT64_C(1000000000) << 32) / c.mult;
    return c.shift >= 0 ? hz >> c.shift : hz << -c.shift;
}
