/*
 * kernel/bootinfo.c: the three protocols, from structures below 4 GiB as a
 * loader would leave them, sound and unsound.
 */
#include <string.h>
#include <sys/mman.h>

#include "../../kernel/bootinfo.h"
#include "check.h"
#include "verr.h"

enum { AREA = 1 << 16 };

static uint8_t *area; /* below 4 GiB; the page behind it is not mapped */
static struct bootinfo b;

static void setup(void)
{
    area = mmap(NULL, AREA + 4096, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    CHECK(area != MAP_FAILED);
    CHECK_EQ(munmap(area + AREA, 4096), 0);
}

static uint32_t addr(unsigned off)
{
    return (uint32_t)(uintptr_t)(area + off);
}

static void put32(unsigned off, uint32_t v)
{
    memcpy(area + off, &v, 4);
}

static void put64(unsigned off, uint64_t v)
{
    memcpy(area + off, &v, 8);
}

TEST(bootinfo_unknown_magic)
{
    setup();
    CHECK_EQ(bootinfo_read(&b, 0x12345678, addr(0)), V_INVAL);
    CHECK_EQ(bootinfo_read(&b, BOOTINFO_MB1, 0), V_INVAL);
    CHECK_EQ(bootinfo_read(&b, BOOTINFO_MB2, UINT64_C(1) << 33), V_INVAL);
    CHECK_EQ(bootinfo_read(&b, BOOTINFO_PVH, addr(0)), V_INVAL);
}

static void mb1_entry(unsigned off, uint64_t base, uint64_t len,
                      uint32_t type)
{
    put32(off, 20);
    put64(off + 4, base);
    put64(off + 12, len);
    put32(off + 20, type);
}

TEST(bootinfo_mb1)
{
    setup();
    put32(0, 1 << 0 | 1 << 2 | 1 << 3 | 1 << 6);
    put32(16, addr(0x1000)); /* command line */
    put32(20, 2);            /* modules */
    put32(24, addr(0x2000));
    put32(44, 4 * 24); /* memory map */
    put32(48, addr(0x3000));
    strcpy((char *)area + 0x1000, "dir/vireo32.elf ip=dhcp a\tb\xff");
    put32(0x2000, 0x300000);
    put32(0x2004, 0x300123);
    put32(0x2010, 0x400000);
    put32(0x2014, 0x400000); /* empty */
    /* A reserved entry wins, wherever it stands. */
    mb1_entry(0x3000, 0x200000, 0x1000, 2);
    mb1_entry(0x3018, 0, 0x9fc00, 1);
    mb1_entry(0x3030, 0x100000, 0x700000, 1);
    mb1_entry(0x3048, UINT64_MAX - 0xfff, UINT64_MAX, 1);
    CHECK_EQ(bootinfo_read(&b, BOOTINFO_MB1, addr(0)), V_OK);
    CHECK_STR_EQ(b.cmdline, "ip=dhcp a b?");
    CHECK_EQ(b.modules, 1);
    CHECK_EQ(b.module[0].end, 0x300123);
    CHECK(ranges_contain(&b.ram, 0x100000, 0x200000));
    CHECK(!ranges_touch(&b.ram, 0x200000, 0x201000));
    CHECK(ranges_contain(&b.ram, 0x201000, 0x800000));
    CHECK_EQ(b.ram.count, 4);
}

TEST(bootinfo_mb1_image_name)
{
    static const struct {
        const char *text;
        const char *want;
    } lines[] = {
        {"vireo32.elf", ""},          {"vireo32.elf ip=dhcp", "ip=dhcp"},
        {"/a/b=c/v.elf log=err", "log=err"},
        {"ip=1.2.3.4/24 gw=1.2.3.1", "ip=1.2.3.4/24 gw=1.2.3.1"},
        {"", ""},                     {"   ", ""},
    };

    setup();
    put32(0, 1 << 2);
    put32(16, addr(0x1000));
    for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        strcpy((char *)area + 0x1000, lines[i].text);
        CHECK_EQ(bootinfo_read(&b, BOOTINFO_MB1, addr(0)), V_OK);
        CHECK_STR_EQ(b.cmdline, lines[i].want);
    }
}

TEST(bootinfo_mb1_without_map)
{
    setup();
    put32(0, 1 << 0);
    put32(8, 65536 - 1024);
    CHECK_EQ(bootinfo_read(&b, BOOTINFO_MB1, addr(0)), V_OK);
    CHECK(b.no_map);
    CHECK_EQ(ranges_bytes(&b.ram), (65536 - 1024) * 1024u);
}

TEST(bootinfo_long_command_line)
{
    setup();
    put32(0, 1 << 2);
    put32(16, addr(0x1000));
    for (unsigned n = BOOT_CMDLINE_MAX - 3; n < BOOT_CMDLINE_MAX + 3; n++) {
        memset(area + 0x1000, 'x', n);
        memcpy(area + 0x1000, "k=", 2);
        area[0x1000 + n] = '\0';
        CHECK_EQ(bootinfo_read(&b, BOOTINFO_MB1, addr(0)), V_OK);
        CHECK_EQ(strlen(b.cmdline),
                 n < BOOT_CMDLINE_MAX ? n : BOOT_CMDLINE_MAX - 1);
        CHECK_EQ(b.cmdline_cut, n >= BOOT_CMDLINE_MAX);
    }
}

/* A tag at `off`, of which the data are filled in by the caller. */
static unsigned mb2_tag_at(unsigned off, uint32_t type, uint32_t size)
{
    put32(off, type);
    put32(off + 4, size);
    return off + 8;
}

TEST(bootinfo_mb2)
{
    unsigned d;

    setup();
    put32(0, 8 + 24 + 24 + 64 + 48 + 8);
    d = mb2_tag_at(8, 1, 8 + 8);
    strcpy((char *)area + d, "ip=dhcp");
    d = mb2_tag_at(24, 3, 17);
    put32(d, 0x500000);
    put32(d + 4, 0x500010);
    d = mb2_tag_at(48, 6, 16 + 48);
    put32(d, 24);
    put64(d + 8, 0x100000);
    put64(d + 16, 0x300000);
    put32(d + 24, 1);
    put64(d + 32, 0x3ff000);
    put64(d + 40, 0x1000);
    put32(d + 48, 3);
    d = mb2_tag_at(112, 15, 8 + 36);
    memcpy(area + d, "RSD PTR ", 8);
    mb2_tag_at(160, 0, 8);
    CHECK_EQ(bootinfo_read(&b, BOOTINFO_MB2, addr(0)), V_OK);
    CHECK_STR_EQ(b.cmdline, "ip=dhcp");
    CHECK_EQ(b.modules, 1);
    CHECK_EQ(b.module[0].start, 0x500000);
    CHECK_EQ(ranges_bytes(&b.ram), 0x2ff000);
    CHECK_EQ(b.rsdp, addr(120));
}

/* Sizes that do not fit: nothing outside of the area is read, and the
 * reading ends. */
TEST(bootinfo_mb2_bad_sizes)
{
    static const uint32_t sizes[] = {0, 1, 7, 8, 9, 15, 16, 17, 24, 31, 32,
                                     33, 0x7fffffff, 0xfffffff8, 0xffffffff};

    setup();
    for (unsigned type = 0; type < 16; type++) {
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            unsigned at = AREA - 32; /* the structures end with the area */

            memset(area + at, 0x55, 32);
            put32(at, 32);
            put32(at + 8, type);
            put32(at + 12, sizes[i]);
            put32(at + 16, 24);
            CHECK_EQ(bootinfo_read(&b, BOOTINFO_MB2, addr(at)), V_OK);
        }
    }
}

TEST(bootinfo_pvh)
{
    setup();
    put32(0, BOOTINFO_PVH);
    put32(4, 1);
    put32(12, 1);
    put64(16, addr(0x1000));
    put64(24, addr(0x2000));
    put64(32, 0xf0000);
    put64(40, addr(0x3000));
    put32(48, 2);
    put64(0x1000, 0x600000);
    put64(0x1008, 0x55);
    strcpy((char *)area + 0x2000, "log=debug");
    put64(0x3000, 0x100000);
    put64(0x3008, 0xf00000);
    put32(0x3010, 1);
    put64(0x3018, 0x100000000);
    put64(0x3020, 0x100000000);
    put32(0x3028, 1);
    CHECK_EQ(bootinfo_read(&b, BOOTINFO_PVH, addr(0)), V_OK);
    CHECK_STR_EQ(b.cmdline, "log=debug");
    CHECK_EQ(b.rsdp, 0xf0000);
    CHECK_EQ(b.module[0].end, 0x600055);
    CHECK_EQ(b.ram.count, 2);
    CHECK_EQ(ranges_bytes(&b.ram), 0x100f00000);
}

TEST(bootinfo_pvh_version_0_has_no_map)
{
    setup();
    put32(0, BOOTINFO_PVH);
    put64(40, addr(0x3000));
    put32(48, 2);
    CHECK_EQ(bootinfo_read(&b, BOOTINFO_PVH, addr(0)), V_OK);
    CHECK_EQ(b.ram.count, 0);
}

TEST(bootinfo_pointers_above_4_gib_are_not_followed)
{
    setup();
    put32(0, BOOTINFO_PVH);
    put32(4, 1);
    put32(12, 3);
    put64(16, UINT64_C(1) << 40);
    put64(24, UINT64_C(1) << 41);
    put64(40, UINT64_MAX - 8);
    put32(48, 0xffffffff);
    CHECK_EQ(bootinfo_read(&b, BOOTINFO_PVH, addr(0)), V_OK);
    CHECK_STR_EQ(b.cmdline, "");
    CHECK_EQ(b.modules, 0);
    CHECK_EQ(b.ram.count, 0);
}
