/*
 * Sleeping. Owns the timer interrupt and the requests of plat_wakeup_at.
 *
 * The race: an interrupt that arrives between "is there anything to do?" and
 * the halt sets its flag, returns to the halt, and nobody looks at the flag
 * until the next interrupt. So the question is asked with interrupts off, and
 * they are switched on by the instruction just before hlt: sti takes effect
 * only after the instruction that follows it, so whatever is pending is
 * delivered in the halt, and ends it.
 */
#include "idle.h"

#include "apic.h"
#include "cpu.h"
#include "plat.h"
#include "time.h"

struct idle_stats idle_stats;

static uint64_t wake_at = UINT64_MAX;

void plat_wakeup_at(uint64_t ns)
{
    if (ns < wake_at)
        wake_at = ns;
}

static void halt(void)
{
    uint64_t before = rdtsc();

    __asm__ volatile("sti; hlt" : : : "memory");
    idle_stats.cycles += rdtsc() - before;
    idle_stats.halts++;
}

void idle_wait(uint64_t max_ns, bool (*pending)(void))
{
    uint64_t now = clock_ns();
    uint64_t until = now + max_ns;

    if (wake_at < until)
        until = wake_at;
    wake_at = UINT64_MAX;
    if (until <= now)
        return;
    irq_off();
    if (pending()) {
        irq_on();
        return;
    }
    apic_timer_arm(until - now);
    halt();
}
