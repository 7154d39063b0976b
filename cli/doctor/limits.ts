/** A raw request without any traffic for this long is given up. */
export const idleMsMax = 60_000;

/** The same for a large upload: a store may have to read it all again before it answers. */
export const largeIdleMsMax = 600_000;

/** An answer's body is read up to here. The probes themselves are smaller. */
export const answerBytesMax = 65_536;

/** Objects written or deleted at a time. */
export const requestsAtOnce = 16;

/** Pages of 1,000 keys that one pass of the cleanup lists. */
export const cleanupPagesMax = 20;

/** A cleanup looks again, because a cut upload may land late. */
export const cleanupPassesMax = 3;

/** The deletion of one object, or of an upload's parts, ends by then, retries included. */
export const deleteMsMax = 20_000;

/** How long a store may take to notice that a client is gone, before the doctor looks what it stored. */
export const settleMs = 200;

/** The same for the uploads that an interrupt cuts: the cleanup waits for it. */
export const interruptedMs = 1_000;
