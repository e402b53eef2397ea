/* Ways to end a run. None of them returns. */
#ifndef POWER_H
#define POWER_H

/* Clean power off: QEMU exits with 0. */
_Noreturn void power_off(void);

_Noreturn void power_reboot(void);

/* A failing verdict for QEMU's isa-debug-exit, whose exit code is then 3;
 * without that device the processor stops. */
_Noreturn void power_fail(void);

#endif
