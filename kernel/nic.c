/*
 * Network devices: from the PCI bus to an interface of the stack.
 *
 * Owns the list of open devices. A device that cannot be used is reported
 * and left alone; the others and the kernel go on.
 */
#include "nic.h"

#include <string.h>

#include "format.h"
#include "mem.h"
#include "netstack.h"
#include "pci/pci.h"
#include "plat.h"
#include "virtio/device.h"
#include "virtio/virtio_pci.h"

struct vnet *nics[NICS_MAX];
unsigned nic_count;

/* What the scan found. */
struct found {
    const struct cmdline *cmdline;
    char others[160]; /* network functions that are not ours, in words */
};

static void parse_addresses(const struct cmdline *c,
                            struct netstack_ifconfig *cfg)
{
    memset(cfg, 0, sizeof(*cfg));
    if (netstack_parse_ip(c->ip, cfg) != V_OK) {
        plat_log(LOG_WARN, "command line: value not usable: 'ip=%s'; "
                 "using dhcp", c->ip);
        memset(cfg, 0, sizeof(*cfg));
        cfg->dhcp = true;
    }
    if (c->gw[0] != '\0' && netstack_parse_addr(c->gw, &cfg->gw) != V_OK) {
        plat_log(LOG_WARN, "command line: value not usable: 'gw=%s'", c->gw);
        cfg->gw = 0;
    }
}

static int add_interface(struct vnet *v, const struct cmdline *c)
{
    struct netstack_ifconfig cfg = {.dhcp = true};

    if (nic_count == 0)
        parse_addresses(c, &cfg);
    return netstack_add(v, &cfg);
}

/* Receive buffers may have a quarter of the memory, if nobody says otherwise,
 * or less where the driver's default is less. */
static uint32_t rx_bufs(const struct cmdline *c)
{
    enum { PAGE = 4096, DRIVER_DEFAULT = 2048 };
    struct mem_info m;
    uint64_t quarter;

    if (c->rx_bufs)
        return c->rx_bufs;
    mem_info(&m);
    quarter = m.free / 4 / PAGE;
    return quarter < DRIVER_DEFAULT ? (uint32_t)quarter : 0;
}

static void open_device(const struct pci_fn *f, const struct cmdline *c)
{
    struct vnet_config config = {
        .rx_ring = c->rx_ring,
        .tx_ring = c->tx_ring,
        .rx_bufs_max = rx_bufs(c),
        .rx_mode = c->rx_mode,
        .rx_size = c->rx_size,
        .rx_bytes = c->rx_bytes,
        .rx_copy = c->rx_copy,
        .rx_early = c->rx_early,
        .refuse = c->refuse,
    };
    struct virtio_dev *dev;
    struct vnet *v;
    int err;

    /* Both log their refusals. */
    if (virtio_pci_open(f, &dev) != V_OK)
        return;
    if (vnet_open(dev, &config, &v) != V_OK) {
        dev->ops->release(dev);
        return;
    }
    err = add_interface(v, c);
    if (err == V_OK) {
        nics[nic_count++] = v;
        return;
    }
    plat_log(LOG_ERR, "%s: no interface: %s", dev->name, verr_name(err));
    if (vnet_close(v) == V_OK)
        dev->ops->release(dev);
}

static void note_other(struct found *found, const struct pci_fn *f)
{
    size_t len = strlen(found->others);
    char name[8];

    pci_name(f->bdf, name);
    format(found->others + len, sizeof(found->others) - len,
           "%s%s %04x:%04x", len ? ", " : "", name, f->vendor, f->device);
}

static int scan_fn(struct pci_fn *f, void *arg)
{
    struct found *found = arg;
    char name[8];

    pci_name(f->bdf, name);
    plat_log(LOG_DEBUG, "pci %s: %04x:%04x class %04x", name, f->vendor,
             f->device, f->class);
    if (virtio_pci_match(f, VIRTIO_ID_NET)) {
        if (nic_count < NICS_MAX)
            open_device(f, found->cmdline);
        else
            plat_log(LOG_WARN, "pci %s: one network device too many", name);
    }
    if (f->class >> 8 == PCI_CLASS_NETWORK)
        note_other(found, f);
    return 0;
}

void nic_init(const struct cmdline *c)
{
    struct found found = {.cmdline = c};
    int err = netstack_start();

    if (err != V_OK)
        plat_panic("the network stack cannot start: %s", verr_name(err));
    netstack_set_gro(c->gro);
    pci_scan(scan_fn, &found);
    if (nic_count == 0)
        plat_log(LOG_ERR, "no usable virtio network device; network "
                 "functions on the bus: %s",
                 found.others[0] ? found.others : "none");
}

unsigned nic_poll(unsigned budget)
{
    unsigned n = 0;

    for (unsigned i = 0; i < nic_count; i++)
        n += vnet_poll(nics[i], budget);
    return n;
}

void nic_flush(void)
{
    for (unsigned i = 0; i < nic_count; i++)
        vnet_flush(nics[i]);
}

bool nic_arm(void)
{
    bool again = false;

    for (unsigned i = 0; i < nic_count; i++)
        again = vnet_arm(nics[i]) || again;
    return again;
}

bool nic_pending(void)
{
    for (unsigned i = 0; i < nic_count; i++) {
        if (vnet_irq_pending(nics[i]))
            return true;
    }
    return false;
}

bool nic_polled(void)
{
    for (unsigned i = 0; i < nic_count; i++) {
        if (vnet_info(nics[i])->polled)
            return true;
    }
    return false;
}
