/* The network devices of this machine, and the loop's view of them. */
#ifndef NIC_H
#define NIC_H

#include <stdbool.h>

#include "cmdline.h"
#include "vnet.h"

#define NICS_MAX 8u

extern struct vnet *nics[NICS_MAX];
extern unsigned nic_count;

/*
 * Finds and opens every network device, and puts the stack on top. The first
 * gets the address of the command line, others ask by DHCP. With none, says
 * what was found instead.
 */
void nic_init(const struct cmdline *c);

/* Hands up to `budget` frames of each to the stack; how many there were. */
unsigned nic_poll(unsigned budget);

/* Rings the doorbells. */
void nic_flush(void);

/* Interrupts on. True: look again. */
bool nic_arm(void);

/* Has any of them raised an interrupt? Works with interrupts off. */
bool nic_pending(void);

/* Is there one that has no interrupts? */
bool nic_polled(void);

#endif
