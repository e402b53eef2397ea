/* Every counter, its name and its meaning, in one table. */
#include "priv.h"

const struct vnet_stat_desc vnet_stat_table[] = {
#define X(name, meaning) {#name, meaning, offsetof(struct vnet_stats, name)},
    VNET_STATS(X)
#undef X
};

const unsigned vnet_stat_count =
    sizeof(vnet_stat_table) / sizeof(vnet_stat_table[0]);

const struct vnet_stats *vnet_stats(const struct vnet *v)
{
    return &v->stats;
}
