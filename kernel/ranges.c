/* A short sorted list of address ranges. Pure; also in a unit test. */
#include "ranges.h"

static void delete_at(struct ranges *rs, unsigned i, unsigned n)
{
    for (unsigned k = i; k + n < rs->count; k++)
        rs->r[k] = rs->r[k + n];
    rs->count -= n;
}

static bool insert_at(struct ranges *rs, unsigned i, uint64_t start,
                      uint64_t end)
{
    if (rs->count == RANGES_MAX)
        return false;
    for (unsigned k = rs->count; k > i; k--)
        rs->r[k] = rs->r[k - 1];
    rs->r[i].start = start;
    rs->r[i].end = end;
    rs->count++;
    return true;
}

bool ranges_add(struct ranges *rs, uint64_t start, uint64_t end)
{
    unsigned i = 0, n = 0;

    if (start >= end)
        return true;
    while (i < rs->count && rs->r[i].end < start)
        i++;
    /* Everything that overlaps or touches becomes one range. */
    for (; i + n < rs->count && rs->r[i + n].start <= end; n++) {
        if (rs->r[i + n].start < start)
            start = rs->r[i + n].start;
        if (rs->r[i + n].end > end)
            end = rs->r[i + n].end;
    }
    delete_at(rs, i, n);
    return insert_at(rs, i, start, end);
}

void ranges_remove(struct ranges *rs, uint64_t start, uint64_t end)
{
    for (unsigned i = 0; i < rs->count && start < end;) {
        struct range *r = &rs->r[i];
        uint64_t upper = r->end;

        if (r->end <= start || r->start >= end) {
            i++;
        } else if (r->start < start) {
            r->end = start;
            if (upper > end)
                insert_at(rs, i + 1, end, upper);
            i++;
        } else if (upper > end) {
            r->start = end;
            i++;
        } else {
            delete_at(rs, i, 1);
        }
    }
}

void ranges_to_pages(struct ranges *rs)
{
    for (unsigned i = 0; i < rs->count;) {
        struct range *r = &rs->r[i];

        r->end &= ~UINT64_C(4095);
        if (r->start > r->end || r->end - r->start < 4096) {
            delete_at(rs, i, 1);
            continue;
        }
        r->start = (r->start + 4095) & ~UINT64_C(4095);
        if (r->start >= r->end)
            delete_at(rs, i, 1);
        else
            i++;
    }
}

bool ranges_contain(const struct ranges *rs, uint64_t start, uint64_t end)
{
    for (unsigned i = 0; i < rs->count; i++) {
        if (start >= rs->r[i].start && end <= rs->r[i].end)
            return true;
    }
    return false;
}

bool ranges_touch(const struct ranges *rs, uint64_t start, uint64_t end)
{
    for (unsigned i = 0; i < rs->count; i++) {
        if (start < rs->r[i].end && end > rs->r[i].start)
            return true;
    }
    return false;
}

uint64_t ranges_bytes(const struct ranges *rs)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < rs->count; i++)
        n += rs->r[i].end - rs->r[i].start;
    return n;
}
