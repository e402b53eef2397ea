/* POLICY, pure: samples of the traffic to a moderation profile. See moder.h. */
#include "vnet/moder.h"

#define DEFAULT_INDEX 1u
#define TIRED_AFTER (MODER_PROFILES * 2)
#define PERCENT 10u /* more than this is a difference */

/* Nothing counted in one measurement is larger, or is taken for larger: so
 * that neither a rate nor a hundred times it leaves 64 bits. */
#define COUNT_MAX (UINT64_C(1) << 46)

enum verdict { WORSE, SAME, BETTER };

static const struct moder_profile profiles[][MODER_PROFILES] = {
    [MODER_RX] = {{1, 256}, {8, 256}, {64, 256}, {128, 256}, {256, 256}},
    [MODER_TX] = {{1, 128}, {8, 128}, {32, 128}, {64, 128}, {128, 128}},
};

void moder_init(struct moder *m, enum moder_dir dir)
{
    *m = (struct moder){.dir = (uint8_t)dir, .index = DEFAULT_INDEX};
}

struct moder_profile moder_profile(const struct moder *m)
{
    return profiles[m->dir][m->index];
}

const char *moder_state_name(enum moder_state state)
{
    static const char *const name[] = {
        [MODER_PARKED] = "parked",
        [MODER_TIRED] = "tired",
        [MODER_RIGHT] = "right",
        [MODER_LEFT] = "left",
    };

    return state < MODER_STATES ? name[state] : "?";
}

static uint64_t per_ms(uint64_t count, uint64_t us)
{
    if (count > COUNT_MAX)
        count = COUNT_MAX;
    return (count * 1000 + us - 1) / us;
}

/* How `now` compares with `before`, where more is better. */
static enum verdict compare(uint64_t now, uint64_t before)
{
    uint64_t diff = now > before ? now - before : before - now;

    if (before == 0)
        return now ? BETTER : SAME;
    if (diff * 100 / before <= PERCENT)
        return SAME;
    return now > before ? BETTER : WORSE;
}

static enum verdict judge(const struct moder_rates *now,
                          const struct moder_rates *before)
{
    enum verdict v = compare(now->bytes, before->bytes);

    /* Nothing known of before: what comes later says nothing either. */
    if (v != SAME || before->bytes == 0)
        return v;
    v = compare(now->packets, before->packets);
    if (v != SAME || before->packets == 0)
        return v;
    if (before->events == 0)
        return SAME;
    v = compare(now->events, before->events);
    return v == SAME ? SAME : v == BETTER ? WORSE : BETTER;
}

enum step { STEPPED, TOO_TIRED, AT_THE_END };

static enum step step(struct moder *m)
{
    if (m->tired == TIRED_AFTER)
        return TOO_TIRED;
    if (m->state == MODER_RIGHT) {
        if (m->index == MODER_PROFILES - 1)
            return AT_THE_END;
        m->index++;
        m->steps_right++;
    } else {
        if (m->index == 0)
            return AT_THE_END;
        m->index--;
        m->steps_left++;
    }
    m->tired++;
    return STEPPED;
}

static void turn(struct moder *m)
{
    if (m->state == MODER_RIGHT) {
        m->state = MODER_LEFT;
        m->steps_left = 0;
    } else {
        m->state = MODER_RIGHT;
        m->steps_right = 0;
    }
}

/* One step back from where it got worse, with better behind it: the top. */
static bool on_top(const struct moder *m)
{
    if (m->state == MODER_RIGHT)
        return m->steps_left > 1 && m->steps_right == 1;
    return m->steps_right > 1 && m->steps_left == 1;
}

static void park(struct moder *m, enum moder_state how)
{
    m->steps_right = m->steps_left = 0;
    m->state = (uint8_t)how;
    if (how == MODER_PARKED)
        m->tired = 0;
}

static void leave_parking(struct moder *m)
{
    m->state = m->index ? MODER_LEFT : MODER_RIGHT;
    step(m);
}

static void walk(struct moder *m, enum verdict v)
{
    if (v != BETTER)
        turn(m);
    if (on_top(m)) {
        park(m, MODER_PARKED);
        return;
    }
    switch (step(m)) {
    case STEPPED:
        break;
    case TOO_TIRED:
        park(m, MODER_TIRED);
        break;
    case AT_THE_END:
        park(m, MODER_PARKED);
        break;
    }
}

static void decide(struct moder *m, const struct moder_rates *now)
{
    enum verdict v = judge(now, &m->before);
    uint8_t old = m->state;

    switch (m->state) {
    case MODER_PARKED:
        if (v != SAME)
            leave_parking(m);
        break;
    case MODER_TIRED:
        if (--m->tired == 0)
            leave_parking(m);
        break;
    default:
        walk(m, v);
        break;
    }
    /* While it stays parked the mark stays, too: or a load that changes by
     * a little each time would never be noticed. */
    if (old != MODER_PARKED || m->state != MODER_PARKED)
        m->before = *now;
}

/* False: not long enough ago for a rate. */
static bool measure(const struct moder *m, const struct moder_sample *s,
                    struct moder_rates *now)
{
    uint64_t us = s->ns > m->start.ns ? (s->ns - m->start.ns) / 1000 : 0;

    if (us == 0)
        return false;
    now->bytes = per_ms(s->bytes - m->start.bytes, us);
    now->packets = per_ms(s->packets - m->start.packets, us);
    now->events = per_ms(s->events - m->start.events, us);
    return true;
}

bool moder_add(struct moder *m, const struct moder_sample *s)
{
    uint8_t old = m->index;
    struct moder_rates now;

    if (m->phase == MODER_APPLY)
        return false;
    if (m->phase == MODER_MEASURE) {
        if (s->events - m->start.events < MODER_EVENTS ||
            !measure(m, s, &now))
            return false;
        decide(m, &now);
        m->decisions++;
    }
    m->phase = MODER_MEASURE;
    m->start = *s;
    if (m->index == old)
        return false;
    m->phase = MODER_APPLY;
    m->changes++;
    return true;
}

void moder_applied(struct moder *m)
{
    if (m->phase == MODER_APPLY)
        m->phase = MODER_BEGIN;
}
