/* Printed by moder_traces.py. */
{MODER_RX, STEADY, 1000, 700,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, STEADY, 0, 0,
 "1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p"
 "1p1p1p1p1p1p1p1p1p1p"},
{MODER_RX, STEADY, 1, 1,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, STEP, 1000, 1200,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, STEP, 1000, 1105,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, STEP, 1000, 1115,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, STEP, 1000, 10,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, STEP, 10, 60000,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, HILL, 0, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, HILL, 0, 120,
 "0l0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p"
 "0p0p0p0p0p0p0p0p0p0p"},
{MODER_RX, HILL, 0, 200,
 "0l0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p"
 "0p0p0p0p0p0p0p0p0p0p"},
{MODER_RX, HILL, 1, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, HILL, 1, 120,
 "0l1r2r1l1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p"
 "1p1p1p1p1p1p1p1p1p1p"},
{MODER_RX, HILL, 1, 200,
 "0l1r2r1l1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p"
 "1p1p1p1p1p1p1p1p1p1p"},
{MODER_RX, HILL, 2, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, HILL, 2, 120,
 "0l1r2r3r2l2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p"
 "2p2p2p2p2p2p2p2p2p2p"},
{MODER_RX, HILL, 2, 200,
 "0l1r2r3r2l2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p"
 "2p2p2p2p2p2p2p2p2p2p"},
{MODER_RX, HILL, 3, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, HILL, 3, 120,
 "0l1r2r3r4r3l3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p"
 "3p3p3p3p3p3p3p3p3p3p"},
{MODER_RX, HILL, 3, 200,
 "0l1r2r3r4r3l3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p"
 "3p3p3p3p3p3p3p3p3p3p"},
{MODER_RX, HILL, 4, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, HILL, 4, 120,
 "0l1r2r3r4r4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p"
 "4p4p4p4p4p4p4p4p4p4p"},
{MODER_RX, HILL, 4, 200,
 "0l1r2r3r4r4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p"
 "4p4p4p4p4p4p4p4p4p4p"},
{MODER_RX, FLOW, 100, 1,
 "0l1r2r3r4r4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p"
 "4p4p4p4p4p4p4p4p4p4p"},
{MODER_RX, FLOW, 1000, 30,
 "0l1r2r3r4r4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p"
 "4p4p4p4p4p4p4p4p4p4p"},
{MODER_RX, FLOW, 5, 2000,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, NOISE, 5000, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_RX, NOISE, 5000, 90,
 "0l1r0l1r0l1r0l0p0p0p0p0p0p1r0l1r0l1r0l1r0l1r0l0t0t0t0t0t0t0t"
 "0t0t0t1r2r1l2r1l2r1l"},
{MODER_RX, NOISE, 5000, 150,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l0p1r0l1r0l1r0l1r2r"
 "1l2r2t2t2t2t2t2t2t2t"},
{MODER_RX, NOISE, 5000, 900,
 "0l0p0p1r0l0p1r0l0p1r0l0p1r2r1l1p0l1r2r1l2r3r2l2p1l0l1r0l0p1r"
 "0l0p1r0l0p0p1r2r3r2l"},
{MODER_RX, CHAOS, 100, 1000,
 "0l0p1r2r3r2l3r4r3l4r4p3l2l3r3p2l3r2l3r4r3l3p2l3r2l1l2r2p1l0l"
 "0p1r0l0p1r2r1l1p0l1r"},
{MODER_RX, CHAOS, 100000, 100000,
 "0l0p1r2r3r2l2p1l0l0p1r0l1r0l0p1r0l1r0l0p1r2r3r2l3r4r3l3p2l3r"
 "4r3l4r4p3l2l3r2l1l2r"},
{MODER_TX, STEADY, 1000, 700,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, STEADY, 0, 0,
 "1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p"
 "1p1p1p1p1p1p1p1p1p1p"},
{MODER_TX, STEADY, 1, 1,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, STEP, 1000, 1200,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, STEP, 1000, 1105,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, STEP, 1000, 1115,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, STEP, 1000, 10,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, STEP, 10, 60000,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, HILL, 0, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, HILL, 0, 120,
 "0l0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p"
 "0p0p0p0p0p0p0p0p0p0p"},
{MODER_TX, HILL, 0, 200,
 "0l0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p0p"
 "0p0p0p0p0p0p0p0p0p0p"},
{MODER_TX, HILL, 1, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, HILL, 1, 120,
 "0l1r2r1l1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p"
 "1p1p1p1p1p1p1p1p1p1p"},
{MODER_TX, HILL, 1, 200,
 "0l1r2r1l1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p1p"
 "1p1p1p1p1p1p1p1p1p1p"},
{MODER_TX, HILL, 2, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, HILL, 2, 120,
 "0l1r2r3r2l2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p"
 "2p2p2p2p2p2p2p2p2p2p"},
{MODER_TX, HILL, 2, 200,
 "0l1r2r3r2l2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p2p"
 "2p2p2p2p2p2p2p2p2p2p"},
{MODER_TX, HILL, 3, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, HILL, 3, 120,
 "0l1r2r3r4r3l3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p"
 "3p3p3p3p3p3p3p3p3p3p"},
{MODER_TX, HILL, 3, 200,
 "0l1r2r3r4r3l3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p3p"
 "3p3p3p3p3p3p3p3p3p3p"},
{MODER_TX, HILL, 4, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, HILL, 4, 120,
 "0l1r2r3r4r4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p"
 "4p4p4p4p4p4p4p4p4p4p"},
{MODER_TX, HILL, 4, 200,
 "0l1r2r3r4r4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p"
 "4p4p4p4p4p4p4p4p4p4p"},
{MODER_TX, FLOW, 100, 1,
 "0l1r2r3r4r4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p"
 "4p4p4p4p4p4p4p4p4p4p"},
{MODER_TX, FLOW, 1000, 30,
 "0l1r2r3r4r4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p4p"
 "4p4p4p4p4p4p4p4p4p4p"},
{MODER_TX, FLOW, 5, 2000,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, NOISE, 5000, 20,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l1r0l1r0l1r0l1r0l1r"
 "1t1t1t1t1t1t1t1t1t1t"},
{MODER_TX, NOISE, 5000, 90,
 "0l1r0l1r0l1r0l0p0p0p0p0p0p1r0l1r0l1r0l1r0l1r0l0t0t0t0t0t0t0t"
 "0t0t0t1r2r1l2r1l2r1l"},
{MODER_TX, NOISE, 5000, 150,
 "0l1r0l1r0l1r0l1r0l1r1t1t1t1t1t1t1t1t1t1t0l0p1r0l1r0l1r0l1r2r"
 "1l2r2t2t2t2t2t2t2t2t"},
{MODER_TX, NOISE, 5000, 900,
 "0l0p0p1r0l0p1r0l0p1r0l0p1r2r1l1p0l1r2r1l2r3r2l2p1l0l1r0l0p1r"
 "0l0p1r0l0p0p1r2r3r2l"},
{MODER_TX, CHAOS, 100, 1000,
 "0l0p1r2r3r2l3r4r3l4r4p3l2l3r3p2l3r2l3r4r3l3p2l3r2l1l2r2p1l0l"
 "0p1r0l0p1r2r1l1p0l1r"},
{MODER_TX, CHAOS, 100000, 100000,
 "0l0p1r2r3r2l2p1l0l0p1r0l1r0l0p1r0l1r0l0p1r2r3r2l3r4r3l3p2l3r"
 "4r3l4r4p3l2l3r2l1l2r"},
