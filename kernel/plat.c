/*
 * The machine's side of include/plat.h and include/plat_pci.h. What is more
 * than a few lines has its own file: clock (time.c), sleeping (idle.c),
 * panic (panic.c), random numbers (random.c), pages (mem.c).
 */
#include "plat.h"

#include <stdarg.h>

#include "apic.h"
#include "console.h"
#include "cpu.h"
#include "format.h"
#include "irq.h"
#include "mem.h"
#include "paging.h"
#include "plat_kernel.h"
#include "plat_pci.h"
#include "random.h"
#include "time.h"
#include "verr.h"

#define PAGE 4096u
#define DMA_MAX ((size_t)4 << 20)
#define ALIGN_MAX ((size_t)65536)

/* Configuration mechanism 1, PCI Local Bus Specification 3.0, 3.2.2.3.2. */
enum pci_port { PCI_ADDRESS = 0xcf8, PCI_DATA = 0xcfc };
#define PCI_ENABLE UINT32_C(0x80000000)

static enum plat_log_level log_level = LOG_INFO;

void plat_log_level_set(enum plat_log_level level)
{
    log_level = level;
}

static size_t pages(size_t size)
{
    return (size + PAGE - 1) / PAGE;
}

void *plat_dma_alloc(size_t size, size_t align)
{
    if (size == 0 || size > DMA_MAX || align > ALIGN_MAX ||
        (align & (align - 1)) != 0)
        return NULL;
    return mem_pages_alloc(pages(size), align > PAGE ? align / PAGE : 1);
}

void plat_dma_free(void *ptr, size_t size)
{
    mem_pages_free(ptr, pages(size));
}

uint64_t plat_dma_addr(const void *ptr)
{
    return (uintptr_t)ptr;
}

uint64_t plat_now_ns(void)
{
    return clock_ns();
}

void plat_relax(void)
{
    cpu_pause();
}

uint64_t plat_random(void)
{
    return random_u64();
}

void plat_log(enum plat_log_level level, const char *fmt, ...)
{
    static const char *const prefix[] = {
        [LOG_ERR] = "error: ",
        [LOG_WARN] = "warning: ",
        [LOG_INFO] = "",
        [LOG_DEBUG] = "debug: ",
    };
    uint64_t ms = clock_ns() / 1000000;
    char text[320];
    va_list ap;

    if (level > log_level || level > LOG_DEBUG)
        return;
    va_start(ap, fmt);
    format_v(text, sizeof(text), fmt, ap);
    va_end(ap);
    console_printf("[%4llu.%03llu] %s%s\n", (unsigned long long)ms / 1000,
                   (unsigned long long)ms % 1000, prefix[level], text);
}

/* Selects the function's register; what the port to access then is. */
static uint16_t pci_select(uint16_t bdf, unsigned off)
{
    outl(PCI_ADDRESS, PCI_ENABLE | (uint32_t)bdf << 8 | (off & 0xfc));
    return (uint16_t)(PCI_DATA + (off & 3));
}

uint32_t plat_pci_read(uint16_t bdf, unsigned off, unsigned width)
{
    uint16_t port = pci_select(bdf, off);

    switch (width) {
    case 1:
        return inb(port);
    case 2:
        return inw(port);
    default:
        return inl(port);
    }
}

void plat_pci_write(uint16_t bdf, unsigned off, unsigned width, uint32_t val)
{
    uint16_t port = pci_select(bdf, off);

    switch (width) {
    case 1:
        outb(port, (uint8_t)val);
        break;
    case 2:
        outw(port, (uint16_t)val);
        break;
    default:
        outl(port, val);
    }
}

void *plat_mmio_map(uint64_t phys, size_t len)
{
    return paging_map_mmio(phys, len);
}

uint32_t plat_mmio_read(const void *reg, unsigned width)
{
    switch (width) {
    case 1:
        return *(const volatile uint8_t *)reg;
    case 2:
        return *(const volatile uint16_t *)reg;
    default:
        return *(const volatile uint32_t *)reg;
    }
}

void plat_mmio_write(void *reg, unsigned width, uint32_t val)
{
    switch (width) {
    case 1:
        *(volatile uint8_t *)reg = (uint8_t)val;
        break;
    case 2:
        *(volatile uint16_t *)reg = (uint16_t)val;
        break;
    default:
        *(volatile uint32_t *)reg = val;
    }
}

int plat_msi_alloc(void (*fn)(void *arg, unsigned n), void *arg, unsigned n,
                   uint64_t *addr, uint32_t *data)
{
    unsigned vector = irq_alloc(fn, arg, n);

    if (vector == 0)
        return V_NOMEM;
    /* Edge, fixed delivery: only the vector is in the data. */
    *addr = apic_msi_addr();
    *data = vector;
    return V_OK;
}

void plat_msi_free(uint64_t addr, uint32_t data)
{
    (void)addr;
    irq_free(data & 0xff);
}
