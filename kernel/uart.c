/*
 * The serial line: a 16550 at COM1, polled for output.
 *
 * Owns the ports 0x3f8 .. 0x3ff. Without a UART all output is dropped; with
 * one that does not drain (nobody reads the other end) a byte waits a bounded
 * time, and after the first that got lost the following do not wait at all
 * until there is room again.
 */
#include "uart.h"

#include <stdint.h>

#include "cpu.h"

#define COM1 0x3f8

enum uart_reg {
    UART_DATA = COM1,
    UART_DIVISOR_LOW = COM1,
    UART_DIVISOR_HIGH = COM1 + 1,
    UART_IER = COM1 + 1,
    UART_FCR = COM1 + 2,
    UART_LCR = COM1 + 3,
    UART_MCR = COM1 + 4,
    UART_LSR = COM1 + 5,
    UART_SCRATCH = COM1 + 7,
};

enum uart_bits {
    IER_RECEIVED = 0x01,
    FCR_ENABLE_AND_CLEAR = 0x07, /* interrupt at the first byte */
    LCR_8N1 = 0x03,
    LCR_DLAB = 0x80,
    MCR_DTR_RTS_OUT2 = 0x0b, /* OUT2 lets the interrupt through */
    LSR_DATA = 0x01,
    LSR_THR_EMPTY = 0x20,
};

/* Looks at the status before a byte is given up: at 115200 baud a byte takes
 * 87 us, and a look at least a tenth of a microsecond. */
#define PUT_PATIENCE 200000u

static bool present;
static bool stalled;

bool uart_init(void)
{
    outb(UART_SCRATCH, 0x5a);
    if (inb(UART_SCRATCH) != 0x5a || inb(UART_LSR) == 0xff)
        return false;
    outb(UART_IER, 0);
    outb(UART_LCR, LCR_DLAB);
    outb(UART_DIVISOR_LOW, 1);
    outb(UART_DIVISOR_HIGH, 0);
    outb(UART_LCR, LCR_8N1);
    outb(UART_FCR, FCR_ENABLE_AND_CLEAR);
    outb(UART_MCR, MCR_DTR_RTS_OUT2);
    present = true;
    return true;
}

void uart_irq_enable(void)
{
    if (present)
        outb(UART_IER, IER_RECEIVED);
}

void uart_put(char c)
{
    unsigned patience = stalled ? 1 : PUT_PATIENCE;

    if (!present)
        return;
    while ((inb(UART_LSR) & LSR_THR_EMPTY) == 0) {
        if (--patience == 0) {
            stalled = true;
            return;
        }
    }
    stalled = false;
    outb(UART_DATA, (uint8_t)c);
}

int uart_get(void)
{
    if (!present || (inb(UART_LSR) & LSR_DATA) == 0)
        return -1;
    return inb(UART_DATA);
}
