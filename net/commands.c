/*
 * The table of the stack's commands: one line each.
 */
#include "netstack.h"
#include "pktgen.h"

const struct netstack_command netstack_commands[] = {
    {"pktgen", "ADDR|stop", "send UDP frames: [:PORT] [len=N] [rate=PPS] "
     "[time=S|count=N]", pktgen_command},
};

const unsigned netstack_command_count =
    sizeof(netstack_commands) / sizeof(netstack_commands[0]);
