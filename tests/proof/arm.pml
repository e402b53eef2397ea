/*
 * Going to sleep without missing anything: the driver, the device, the
 * processor's interrupts, and memory that holds stores back.
 *
 * Virtio 1.3, sections 2.7.7.2 and 2.7.14; the driver's side is
 * drivers/vnet/poll.c and coal.c, virtq_arm and virtq_disarm, the processor's
 * is kernel/idle.c. The labels name the function that a part stands for. The
 * doorbells of the other direction are left out: the device knows by itself
 * when the driver has taken something.
 *
 * What is to be shown: when nothing can happen any more, the driver has
 * taken everything that the device made. It stops at `finished` only then;
 * asleep for ever before that is an invalid end state. The slow timer of the
 * main loop, which looks at the rings whatever happens, is left out, for it
 * would hide every mistake. And: between two events of the device, takings
 * or halts the driver does not go round for ever.
 *
 * Variants:  FLAG        the interrupt flag; else the event index
 *            MODERATED   event AHEAD entries ahead, and a timer
 * Mistakes:  NO_LOOK     arming does not look at the ring again
 *            LOOK_FIRST  it looks before it stores the wish
 *            NO_FENCE    nothing between the wish and the look
 *            NO_RECHECK  halts without asking for the interrupt's bit
 *            CHECK_OPEN  asks for it with interrupts on
 *            CLEAR_LATE  clears it after arming, not before taking
 *            NO_TIMER    event ahead, and no timer
 *            TIMER_OPEN  the timer is started with interrupts on
 *            ALWAYS      arming says "look again" whatever is there
 *
 * Memory is that of x86: each side's stores wait in a queue of their own,
 * while its loads go ahead; a fence waits for the queue to be empty.
 */

#define TOTAL 5  /* entries in all */
#define RING 3   /* entries that the driver has not taken, at most */
#define BUDGET 2
#define AHEAD 1
#define START 6  /* so that the indices wrap */
#define NEXT(x) (((x) + 1) & 7)
#define FAR(x) (((x) + 4) & 7) /* half of the index space: never passed */
#define NEED_EVENT(e, now, old) \
    ((((now) - (e) - 1) & 7) < (((now) - (old)) & 7))

/* memory */
byte used_idx = START;
byte wish;                      /* used_event, or the flag: 1 is "no" */
chan driver_stores = [2] of { byte };
chan device_stores = [1] of { byte };

/* the processor */
bool irqs_on = true;            /* interrupts */
bool halted;
bool irr_device;                /* raised, not yet taken */
bool irr_timer;
bool timer_runs;
bool irq_bit;                   /* v->irq_bits */

byte made;                      /* by the device */
byte taken;                     /* by the driver */

#ifdef FLAG
#define WISH_OFF 1
#define WISH_ON(after) 0
#define WANTED(now, old) (wish == 0)
#else
#define WISH_OFF FAR(used)
#define WISH_ON(after) ((used + (after)) & 7)
#define WANTED(now, old) NEED_EVENT(wish, now, old)
#endif

#ifdef NO_FENCE
#define DRIVER_FENCE skip
#else
#define DRIVER_FENCE empty(driver_stores)
#endif

active proctype driver()
{
    byte used = START; /* vq->used_idx */
    byte seen = START; /* vq->used_seen */
    byte n;            /* frames of this turn */
    byte after;
    bool busy;         /* frames have come since the last sleep */
    bool again;

    driver_stores!WISH_OFF;     /* virtq_init */
    goto arm;

poll:
    driver_stores!WISH_OFF;     /* virtq_disarm */
#ifndef CLEAR_LATE
    irq_bit = false;            /* take_irqs */
#endif
    n = 0;
    do                          /* rx_poll, virtq_get, look */
    :: n == BUDGET -> break
    :: n < BUDGET && used != seen ->
progress_taken:
        used = NEXT(used);
        taken++;
        n++
    :: n < BUDGET && used == seen ->
        seen = used_idx;
        if
        :: used == seen -> break
        :: else
        fi
    od;
    if
    :: n > 0 -> busy = true; goto poll
    :: else
    fi;

arm:
    after = 0;
#ifdef MODERATED
    if
    :: busy -> after = AHEAD
    :: else
    fi;
#endif
    again = false;              /* virtq_arm */
#ifdef LOOK_FIRST
    seen = used_idx;
    again = ((seen - used) & 7) > after;
    driver_stores!WISH_ON(after);
    DRIVER_FENCE;
#else
    driver_stores!WISH_ON(after);
    DRIVER_FENCE;
#ifndef NO_LOOK
    seen = used_idx;
    again = ((seen - used) & 7) > after;
#endif
#endif
#ifdef ALWAYS
    again = true;
#endif
    if
    :: again -> goto poll       /* "look again" */
    :: else
    fi;
#ifdef CLEAR_LATE
    irq_bit = false;
#endif

#ifdef TIMER_OPEN
    timer_runs = busy;
#endif
#ifndef CHECK_OPEN
    irqs_on = false;            /* idle_wait: irq_off */
#endif
#ifndef NO_RECHECK
    if
    :: irq_bit ->
        irqs_on = true;
        goto poll
    :: else
    fi;
#endif
#ifdef MODERATED
#if !defined(NO_TIMER) && !defined(TIMER_OPEN)
    timer_runs = busy;          /* apic_timer_arm */
#endif
#endif
    busy = false;
progress_halt:
    atomic {                    /* sti; hlt */
        irqs_on = true;
        halted = true
    };
    if
    :: !halted -> goto poll
    :: halted && made == TOTAL && taken == TOTAL -> goto finished
    fi;

finished:
    skip
}

active proctype device()
{
    byte now = START;
    byte old = START;

    do
    :: made == TOTAL -> break
    :: made < TOTAL && made - taken < RING ->
progress_made:
        now = NEXT(now);
        made++;
        do                      /* as many at once as it likes */
        :: made < TOTAL && made - taken < RING ->
            now = NEXT(now);
            made++
        :: break
        od;
        device_stores!now;
        empty(device_stores);
        if
        :: WANTED(now, old) -> irr_device = true
        :: else
        fi;
        old = now
    od
}

/* The stores arrive in memory, each in its own time. */
active proctype memory()
{
end:
    do
    :: driver_stores?wish
    :: device_stores?used_idx
    od
}

/* vnet_irq, and what ends the halt. */
active proctype interrupts()
{
end:
    do
    :: atomic { irqs_on && irr_device ->
        irr_device = false;
        irq_bit = true;
        halted = false
    }
    :: atomic { irqs_on && irr_timer ->
        irr_timer = false;
        halted = false
    }
    :: atomic { timer_runs ->
        timer_runs = false;
        irr_timer = true
    }
    od
}
