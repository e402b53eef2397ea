/* Byte queue limits: how the limit moves. Pure. */
#include "vnet/bql.h"

/* a - b, or 0 when b is ahead; both run freely over 32 bits. */
static uint32_t ahead(uint32_t a, uint32_t b)
{
    int32_t d = (int32_t)(a - b);

    return d > 0 ? (uint32_t)d : 0;
}

static void new_period(struct bql *b, uint64_t now_ns)
{
    b->slack = UINT32_MAX;
    b->since_ns = now_ns;
}

static void remember(struct bql *b, uint32_t over)
{
    b->seen_queued = b->queued;
    b->seen_done = b->done;
    b->seen_last = b->last;
    b->seen_over = over;
}

void bql_restart(struct bql *b, uint32_t first, uint32_t min, uint32_t max,
                 uint64_t now_ns)
{
    b->limit = first;
    b->min = min;
    b->max = max;
    remember(b, 0);
    new_period(b, now_ns);
}

/*
 * Twice what was finished at once is needed: while the one half is being
 * finished and looked at, the device works on the other. What the limit has
 * above that is slack. So is the part of the newest frame that lay under the
 * limit when it was reached: without it, the frame had gone all the same.
 */
static uint32_t slack_of(const struct bql *b)
{
    uint32_t finished = b->done - b->seen_done;
    uint32_t slack = ahead(b->limit + b->seen_over, 2 * finished);
    uint32_t part = b->seen_over ? ahead(b->seen_last, b->seen_over) : 0;

    return slack > part ? slack : part;
}

static uint32_t clamp(const struct bql *b, uint32_t limit)
{
    if (limit < b->min)
        return b->min;
    return limit > b->max ? b->max : limit;
}

bool bql_adapt(struct bql *b, uint64_t now_ns)
{
    uint32_t before = b->limit, limit = before;
    uint32_t over = ahead(b->queued - b->seen_done, before);
    uint32_t left = b->queued - b->done;
    bool had_some = b->seen_queued != b->seen_done;
    bool all_of_those = (int32_t)(b->done - b->seen_queued) >= 0;

    if (b->done == b->seen_done)
        return false;
    if ((over && left == 0) || (b->seen_over && all_of_those)) {
        /* Held back, and dry: everything since then could have been more. */
        limit += ahead(b->done, b->seen_queued) + b->seen_over;
        new_period(b, now_ns);
    } else if (left && had_some && !all_of_those) {
        uint32_t slack = slack_of(b);

        if (slack < b->slack)
            b->slack = slack;
        if (now_ns - b->since_ns > BQL_PERIOD_NS) {
            limit = ahead(limit, b->slack);
            new_period(b, now_ns);
        }
    }
    b->limit = clamp(b, limit);
    remember(b, b->limit == before ? over : 0);
    return b->limit != before;
}
