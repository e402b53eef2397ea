/* Names of the result codes, for messages. */
#include "verr.h"

const char *verr_name(int err)
{
    static const char *const name[] = {
        [-V_OK] = "ok",
        [-V_NOMEM] = "no memory",
        [-V_FULL] = "ring full",
        [-V_NODEV] = "no such device",
        [-V_UNSUPPORTED] = "not supported by the device",
        [-V_REFUSED] = "refused by the device",
        [-V_TIMEOUT] = "no answer from the device",
        [-V_BADDEV] = "the device contradicts itself",
        [-V_INVAL] = "invalid argument",
        [-V_DOWN] = "device down",
    };

    if (err > 0 || err <= -(int)(sizeof(name) / sizeof(name[0])))
        return "unknown error";
    return name[-err];
}
