/* Between pci_model.c and pci_model_regs.c: the registers of BAR 4. */
#ifndef PCI_MODEL_REGS_H
#define PCI_MODEL_REGS_H

#include "pci_model.h"

uint32_t pci_model_regs_read(void *arg, uint64_t off, unsigned width);
void pci_model_regs_write(void *arg, uint64_t off, unsigned width,
                          uint32_t val);
/* What a device reset does to them. */
void pci_model_regs_reset(struct pci_model *pm);

#endif
