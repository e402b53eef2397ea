/*
 * ACPI 6.4: root pointer (5.2.5), RSDT and XSDT (5.2.7, 5.2.8), FADT (5.2.9),
 * MADT (5.2.12), the \_S5 package of the DSDT (7.4.2); HPET table: IA-PC HPET
 * Specification 1.0a, 3.2.4.
 *
 * There is no interpreter: the one value needed of the DSDT is found by its
 * name. Tables with a wrong checksum, and those above 4 GiB, are ignored.
 */
#include "acpi.h"

#include <stddef.h>
#include <string.h>

#include "uart.h"

#define FOUR_GIB (UINT64_C(1) << 32)
#define TABLE_MAX 0x100000u
#define BIOS_START 0xe0000u
#define BIOS_END 0x100000u
#define EBDA_SEGMENT 0x40eu

struct acpi_header {
    char signature[4];
    uint32_t length;
    uint8_t revision;
    uint8_t checksum;
    uint8_t ids[26];
};

/* Offsets in the tables; fields are not aligned. */
enum rsdp_offset { RSDP_REVISION = 15, RSDP_RSDT = 16, RSDP_XSDT = 24 };

enum fadt_offset {
    FADT_DSDT = 40,
    FADT_PM1A_CONTROL = 64,
    FADT_PM1B_CONTROL = 68,
    FADT_PM_TIMER = 76,
    FADT_X_DSDT = 140,
};

enum hpet_offset { HPET_ADDRESS_SPACE = 40, HPET_ADDRESS = 44 };

enum madt_offset { MADT_ENTRIES = 44 };
enum madt_type { MADT_IOAPIC = 1, MADT_OVERRIDE = 2 };

static struct acpi_info info;

const struct acpi_info *acpi_info(void)
{
    return &info;
}

/* Little-endian field of `width` bytes at `off`; 0 beyond the table. */
static uint64_t field(const struct acpi_header *t, uint32_t off,
                      unsigned width)
{
    uint64_t val = 0;

    if (off + width <= t->length)
        memcpy(&val, (const uint8_t *)t + off, width);
    return val;
}

static uint8_t sum(const void *p, uint32_t len)
{
    const uint8_t *b = p;
    uint8_t s = 0;

    while (len-- > 0)
        s = (uint8_t)(s + *b++);
    return s;
}

static const struct acpi_header *table_at(uint64_t addr)
{
    const struct acpi_header *t = (const void *)(uintptr_t)addr;

    if (addr < 0x400 || addr > FOUR_GIB - sizeof(*t))
        return NULL;
    if (t->length < sizeof(*t) || t->length > TABLE_MAX ||
        t->length > FOUR_GIB - addr || sum(t, t->length) != 0)
        return NULL;
    return t;
}

/* ---- root pointer ---- */

static bool is_rsdp(const uint8_t *p)
{
    return memcmp(p, "RSD PTR ", 8) == 0 && sum(p, 20) == 0;
}

static const uint8_t *search(uint32_t start, uint32_t end)
{
    for (uint32_t a = start; a + 20 <= end; a += 16) {
        const uint8_t *p = (const uint8_t *)(uintptr_t)a;

        if (is_rsdp(p))
            return p;
    }
    return NULL;
}

static const uint8_t *find_rsdp(uint64_t given)
{
    const uint8_t *p = (const uint8_t *)(uintptr_t)given;
    const uint8_t *segment = (const uint8_t *)EBDA_SEGMENT;
    uint32_t ebda;

    /* To the compiler, nothing can be so close to a null pointer. */
    __asm__("" : "+r"(segment));
    ebda = ((uint32_t)segment[0] | (uint32_t)segment[1] << 8) << 4;
    if (given >= 0x400 && given < FOUR_GIB - 36 && is_rsdp(p))
        return p;
    p = NULL;
    if (ebda >= 0x400 && ebda < 0xa0000)
        p = search(ebda, ebda + 1024);
    return p ? p : search(BIOS_START, BIOS_END);
}

/* ---- soft off ---- */

/* Package element: a small integer. Advances *p. */
static bool aml_byte(const uint8_t **p, const uint8_t *end, uint8_t *val)
{
    enum { AML_ZERO = 0, AML_ONE = 1, AML_BYTE = 0x0a };

    if (*p < end && (**p == AML_ZERO || **p == AML_ONE)) {
        *val = *(*p)++;
        return true;
    }
    if (end - *p >= 2 && **p == AML_BYTE) {
        *val = (*p)[1];
        *p += 2;
        return true;
    }
    return false;
}

/* Behind the name: package op, package length (1-4 bytes), element count. */
static bool s5_package(const uint8_t *p, const uint8_t *end)
{
    enum { AML_PACKAGE = 0x12 };
    unsigned more;

    if (end - p < 3 || *p++ != AML_PACKAGE)
        return false;
    more = *p >> 6;
    if (end - p < (ptrdiff_t)(more + 2))
        return false;
    p += more + 2;
    if (!aml_byte(&p, end, &info.s5_a))
        return false;
    if (!aml_byte(&p, end, &info.s5_b))
        info.s5_b = info.s5_a;
    return true;
}

static void read_dsdt(const struct acpi_header *dsdt)
{
    const uint8_t *p = (const uint8_t *)(dsdt + 1);
    const uint8_t *end = (const uint8_t *)dsdt + dsdt->length;

    for (; end - p > 4 && !info.s5; p++) {
        if (memcmp(p, "_S5_", 4) == 0)
            info.s5 = s5_package(p + 4, end);
    }
}

/* ---- the tables ---- */

static void read_fadt(const struct acpi_header *t)
{
    const struct acpi_header *dsdt;

    info.pm1a_control = (uint16_t)field(t, FADT_PM1A_CONTROL, 4);
    info.pm1b_control = (uint16_t)field(t, FADT_PM1B_CONTROL, 4);
    info.pm_timer = (uint16_t)field(t, FADT_PM_TIMER, 4);
    dsdt = table_at(field(t, FADT_X_DSDT, 8));
    if (!dsdt)
        dsdt = table_at(field(t, FADT_DSDT, 4));
    if (dsdt)
        read_dsdt(dsdt);
}

static void read_hpet(const struct acpi_header *t)
{
    if (field(t, HPET_ADDRESS_SPACE, 1) == 0)
        info.hpet = field(t, HPET_ADDRESS, 8);
}

/* COM1 is ISA interrupt 4, an edge on input 4 unless an override says so. */
static void read_override(const struct acpi_header *t, uint32_t off,
                          uint32_t *gsi)
{
    enum { ACTIVE_LOW = 3, LEVEL = 3 };
    unsigned flags = (unsigned)field(t, off + 8, 2);

    if (field(t, off + 3, 1) != UART_IRQ)
        return;
    *gsi = (uint32_t)field(t, off + 4, 4);
    info.uart.active_low = (flags & 3) == ACTIVE_LOW;
    info.uart.level = (flags >> 2 & 3) == LEVEL;
}

static void read_madt(const struct acpi_header *t)
{
    uint32_t gsi = UART_IRQ, first;

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t off = MADT_ENTRIES; off + 2 <= t->length;) {
            unsigned type = (unsigned)field(t, off, 1);
            unsigned len = (unsigned)field(t, off + 1, 1);

            if (pass == 0 && type == MADT_OVERRIDE)
                read_override(t, off, &gsi);
            first = (uint32_t)field(t, off + 8, 4);
            /* The I/O APIC with the highest first input up to ours. */
            if (pass == 1 && type == MADT_IOAPIC && first <= gsi &&
                (!info.uart_pin || gsi - first < info.uart.pin)) {
                info.uart_pin = true;
                info.uart.base = field(t, off + 4, 4);
                info.uart.pin = gsi - first;
            }
            if (len < 2)
                break;
            off += len;
        }
    }
}

static void read_table(uint64_t addr)
{
    const struct acpi_header *t = table_at(addr);

    if (!t)
        return;
    if (memcmp(t->signature, "FACP", 4) == 0)
        read_fadt(t);
    else if (memcmp(t->signature, "APIC", 4) == 0)
        read_madt(t);
    else if (memcmp(t->signature, "HPET", 4) == 0)
        read_hpet(t);
}

void acpi_init(uint64_t given)
{
    const uint8_t *rsdp = find_rsdp(given);
    const struct acpi_header *root = NULL;
    uint64_t addr = 0;
    unsigned width = 8;

    if (!rsdp)
        return;
    if (rsdp[RSDP_REVISION] >= 2) {
        memcpy(&addr, rsdp + RSDP_XSDT, 8);
        root = table_at(addr);
    }
    if (!root) {
        addr = 0;
        memcpy(&addr, rsdp + RSDP_RSDT, 4);
        root = table_at(addr);
        width = 4;
    }
    if (!root)
        return;
    for (uint32_t off = sizeof(*root); off + width <= root->length;
         off += width)
        read_table(field(root, off, width));
}
