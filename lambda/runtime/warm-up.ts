import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from '../ports/ledger.ts';

/**
 * What a container does while it starts, so that its first request does not have to: a start has a full core, a
 * request only the share that the function's memory buys.
 */

/** A listing that can read made-up pages. */
interface WarmListing {
  warmUp(): Promise<void>;
}

/** Reads made-up pages: on a share of a core those of a first scan would take several times as long. */
export const warmUpScan = (deps: { listing: WarmListing }) => deps.listing.warmUp();

/** A start must not depend on the table: the first request will report what is wrong with it. */
const tableWarmUpMaxMs = 1000;

/**
 * Reads an item that does not exist. This opens the connection, with its handshake, and compiles the code that a
 * request goes through.
 */
export async function warmUpTable(deps: { ledger: Pick<Ledger, 'readTenant'> }): Promise<void> {
  const read = deps.ledger.readTenant('').catch(() => undefined);
  await Promise.race([read, sleep(tableWarmUpMaxMs)]);
}

export async function warmUpTableAndScan(
  deps: Parameters<typeof warmUpTable>[0] & Parameters<typeof warmUpScan>[0],
): Promise<void> {
  // One waits for the network while the other computes.
  await Promise.all([warmUpTable(deps), warmUpScan(deps)]);
}
