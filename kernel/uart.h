/* The serial line, COM1: a 16550 or nothing. */
#ifndef UART_H
#define UART_H

#include <stdbool.h>

/* The interrupt line of COM1 on the ISA bus. */
#define UART_IRQ 4u

/* 115200 8N1, FIFO on. Returns whether there is a UART. */
bool uart_init(void);

/* Interrupts on received bytes, or not. */
void uart_irq_enable(void);

/* Sends one byte; gives up when the line does not take it. */
void uart_put(char c);

/* The next received byte, or -1. */
int uart_get(void);

#endif
