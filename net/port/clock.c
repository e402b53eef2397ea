/*
 * lwIP's clock and the finer ones for the servers, from the platform's.
 */
#include "lwip/sys.h"

u32_t sys_now(void)
{
    return (u32_t)(plat_now_ns() / 1000000);
}

uint64_t sys_now_ns(void)
{
    return plat_now_ns();
}

uint64_t sys_now_us(void)
{
    return plat_now_ns() / 1000;
}
