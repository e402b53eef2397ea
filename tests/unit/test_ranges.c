/* kernel/ranges.c: against a plain map of 64 cells. */
#include <string.h>

#include "../../kernel/ranges.h"
#include "check.h"
#include "plat.h"

enum { CELLS = 64 };

static struct ranges rs;
static bool cell[CELLS];

static void check_same(void)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < CELLS; i++) {
        CHECK_EQ(ranges_contain(&rs, i, i + 1), cell[i]);
        CHECK_EQ(ranges_touch(&rs, i, i + 1), cell[i]);
        bytes += cell[i];
    }
    CHECK_EQ(ranges_bytes(&rs), bytes);
    for (unsigned i = 0; i < rs.count; i++)
        CHECK(rs.r[i].start < rs.r[i].end);
    for (unsigned i = 1; i < rs.count; i++)
        CHECK(rs.r[i - 1].end < rs.r[i].start);
}

TEST(ranges_random)
{
    for (unsigned round = 0; round < 3000; round++) {
        unsigned a = (unsigned)(plat_random() % CELLS);
        unsigned b = (unsigned)(plat_random() % (CELLS + 1));
        bool add = plat_random() % 2;

        if (add)
            CHECK(ranges_add(&rs, a, b));
        else
            ranges_remove(&rs, a, b);
        for (unsigned i = a; i < b; i++)
            cell[i] = add;
        check_same();
    }
}

TEST(ranges_full_list)
{
    for (unsigned i = 0; i < RANGES_MAX; i++)
        CHECK(ranges_add(&rs, 10 * i, 10 * i + 9));
    CHECK(!ranges_add(&rs, 100000, 100001));
    CHECK_EQ(rs.count, RANGES_MAX);
    /* Merging still works, and so does a hole: its upper part is lost. */
    CHECK(ranges_add(&rs, 9, 10));
    CHECK_EQ(rs.count, RANGES_MAX - 1);
    CHECK(ranges_add(&rs, 100000, 100009));
    ranges_remove(&rs, 102, 104);
    CHECK_EQ(rs.count, RANGES_MAX);
    CHECK(ranges_contain(&rs, 100, 102));
    CHECK(!ranges_touch(&rs, 102, 109));
    CHECK(ranges_contain(&rs, 110, 119));
}

TEST(ranges_pages)
{
    CHECK(ranges_add(&rs, 1, 4095));
    CHECK(ranges_add(&rs, 5000, 8192));
    CHECK(ranges_add(&rs, 9000, 20481));
    CHECK(ranges_add(&rs, 0x100000, 0x101000));
    CHECK(ranges_add(&rs, UINT64_MAX - 5000, UINT64_MAX));
    ranges_to_pages(&rs);
    CHECK_EQ(rs.count, 2);
    CHECK_EQ(rs.r[0].start, 12288);
    CHECK_EQ(rs.r[0].end, 20480);
    CHECK_EQ(rs.r[1].start, 0x100000);
    CHECK_EQ(rs.r[1].end, 0x101000);
}

TEST(ranges_extremes)
{
    CHECK(ranges_add(&rs, 0, UINT64_MAX));
    CHECK_EQ(rs.count, 1);
    ranges_remove(&rs, 0, 0x100000);
    ranges_remove(&rs, UINT64_C(1) << 36, UINT64_MAX);
    CHECK_EQ(rs.count, 1);
    CHECK_EQ(ranges_bytes(&rs), (UINT64_C(1) << 36) - 0x100000);
    CHECK(ranges_add(&rs, 7, 7));
    CHECK_EQ(rs.count, 1);
}
