import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from '../adapters/dynamodb/ledger.ts';

/**
 * What a container does while it starts, so that its first request need not do it. A start has a full core. A request
 * has only the share of a core that the function's memory setting grants.
 */

/** A listing that can parse made-up pages, so that its code is compiled. */
interface WarmListing {
  warmUp(): Promise<void>;
}

/** Parses made-up pages. On a share of a core, the first pages of the first scan would take several times as long. */
export const warmUpScan = (deps: { listing: WarmListing }) => deps.listing.warmUp();

/** A start must not depend on the table. If the table is broken, the first request will report it. */
const tableWarmUpMaxMs = 1000;

/**
 * Reads an item that does not exist. This opens the connection, with its TLS handshake, and compiles the code that
 * every request runs. Never throws.
 */
export async function warmUpTable(deps: { ledger: Pick<Ledger, 'readTenant'> }): Promise<void> {
  const read = deps.ledger.readTenant('').catch(() => undefined);
  await Promise.race([read, sleep(tableWarmUpMaxMs)]);
}

export async function warmUpTableAndScan(
  deps: Parameters<typeof warmUpTable>[0] & Parameters<typeof warmUpScan>[0],
): Promise<void> {
  // One waits for the network while the other uses the CPU.
  await Promise.all([warmUpTable(deps), warmUpScan(deps)]);
}
