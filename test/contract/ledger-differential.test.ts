import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect, isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDynamoDbLedger } from '../../lambda/adapters/dynamodb/ledger.ts';
import type { Deletion } from '../../lambda/domain/deletion.ts';
import type { Ledger } from '../../lambda/ports/ledger.ts';
import { allPages } from '../../lambda/use-cases/all-pages.ts';
import { openDatabase } from '../../local/data/database.ts';
import { MemoryLedger } from '../support/memory/ledger.ts';
import { Random } from '../support/random.ts';
import { deletionPages, dueOf, reservationPages, tenantName } from './ledger-context.ts';
import { newTenant, pathsOf, randomCall } from './random-ledger-calls.ts';

/**
 * The simulator proves the protocol on the ledger in memory. Here the adapter of the table is shown to behave like it.
 * More seeds: LEDGER_SEEDS=1000. One of them again: LEDGER_SEED=17 LEDGER_SEEDS=1.
 */
const firstSeed = Number(process.env['LEDGER_SEED'] ?? 0);
const seedCount = Number(process.env['LEDGER_SEEDS'] ?? 24);
const callsPerSeed = 60;
/** Share of the calls that are sent again, as the SDK does when it got no answer. */
const twiceShare = 0.3;

const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-differential-'));
let opened: Awaited<ReturnType<typeof openDatabase>>;

beforeAll(async () => {
  opened = await openDatabase(join(folder, 'table'));
});

afterAll(async () => {
  await opened.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Everything that a ledger holds of a tenant. */
async function stateOf(ledger: Ledger, tenant: string) {
  const [record, repos, reservations, deletions] = await Promise.all([
    ledger.readTenant(tenant),
    allPages(ledger.repos(tenant)),
    allPages(ledger.reservations(tenant)),
    allPages(ledger.deletions(tenant)),
  ]);
  return { record, repos, reservations, deletions };
}

/** The same through the reads of one repo, and when the tenant is due. */
async function readsOf(ledger: Ledger, tenant: string) {
  const ofRepos = pathsOf(tenant).map(async (path) => ({
    record: await ledger.readRepo(path),
    reservations: await allPages(ledger.reservationsOf(path)),
    listed: await allPages(reservationPages(ledger, { ...path, pageSize: 1 })),
    deletions: await allPages(ledger.deletionsOf(path)),
    naming: (await ledger.deletionsNaming({ ...path, oids: ['a'] })).toSorted((a, b) =>
      a.id < b.id ? -1 : 1,
    ),
    listedDeletions: await allPages(deletionPages(ledger, { ...path, pageSize: 1 })),
    shards: await allPages(ledger.shards(path)),
    cleanup: await ledger.readCleanup(path),
    gone: await ledger.goneOf({ ...path, oids: ['a', 'b', 'c', 'd'] }),
  }));
  const due = await dueOf(ledger, { nowMs: 400, tenantsMax: 1_000_000 });
  const listed = await allPages(reservationPages(ledger, { tenant, pageSize: 2 }));
  const listedDeletions = await allPages(deletionPages(ledger, { tenant, pageSize: 2 }));
  return {
    repos: await Promise.all(ofRepos),
    listed,
    listedDeletions,
    due: due.find((one) => one.tenant === tenant),
  };
}

/** @throws if the two ledgers differ, with the calls that led there. */
function same(
  seed: number,
  what: string,
  [table, memory]: readonly [unknown, unknown],
  calls: readonly string[],
) {
  if (isDeepStrictEqual(table, memory)) return;
  const show = (value: unknown) => inspect(value, { depth: 6, breakLength: 110 });
  const trail = calls.slice(-8).join('\n  ');
  throw new Error(
    `LEDGER_SEED=${seed}: ${what} differs.\nOn the table: ${show(table)}\nIn memory: ${show(memory)}\nLast calls:\n  ${trail}`,
  );
}

/** @returns the names of the methods that were called, and how many calls were sent twice. */
async function compare(seed: number): Promise<{ called: Set<string>; twice: number }> {
  const random = new Random(seed);
  const tenant = tenantName();
  const ledgers = [createDynamoDbLedger(opened), new MemoryLedger({ pageSize: 3 })] as const;
  const both = async <T>(run: (ledger: Ledger) => Promise<T>) =>
    [await run(ledgers[0]), await run(ledgers[1])] as const;
  const compareStates = async (after: string) => {
    const states = await both((ledger) => stateOf(ledger, tenant));
    same(seed, `the state after ${after}`, states, calls);
    return states[0];
  };
  await both((ledger) => ledger.createTenant(newTenant(tenant)));
  const calls: string[] = [];
  const called = new Set<string>();
  let read: readonly Deletion[] = [];
  let twice = 0;
  let state = await compareStates('createTenant');
  for (let step = 0; step < callsPerSeed; step += 1) {
    const { record, deletions } = state;
    // A caller acts on what it read some steps ago.
    if (random.chance(0.5)) read = deletions;
    const known = {
      epoch: record?.epoch ?? 0,
      settingsVersion: record?.settingsVersion ?? 0,
      limitBytes: record?.limitBytes ?? null,
      repoLimits: record?.repoLimits ?? new Map(),
      deletions: read,
      repos: state.repos,
    };
    const call = randomCall(random, tenant, known);
    const times = random.chance(twiceShare) ? 2 : 1;
    calls.push(`${times} × ${call.name} ${inspect(call.input, { breakLength: Number.POSITIVE_INFINITY })}`);
    for (let time = 0; time < times; time += 1)
      same(seed, `the answer to ${call.name}`, await both((ledger) => call.run(ledger)), calls);
    state = await compareStates(call.name);
    called.add(call.name);
    twice += times - 1;
  }
  same(seed, 'what is read by repo, or is due,', await both((ledger) => readsOf(ledger, tenant)), calls);
  return { called, twice };
}

it(`the table and the ledger in memory agree: ${callsPerSeed} random calls from each of ${seedCount} seeds`, {
  timeout: 60_000 + seedCount * 5000,
}, async () => {
  const called = new Set<string>();
  let twice = 0;
  for (let seed = firstSeed; seed < firstSeed + seedCount; seed += 1) {
    const run = await compare(seed);
    for (const name of run.called) called.add(name);
    twice += run.twice;
  }
  // Nothing is compared by a method that was never called.
  if (seedCount >= 20) expect(called.size).toBe(42);
  expect(twice).toBeGreaterThan(seedCount * 5);
});
