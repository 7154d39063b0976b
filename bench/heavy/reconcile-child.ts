import { parseReservation } from '../../lambda/adapters/dynamodb/items.ts';
import type { Reservation } from '../../lambda/domain/reservation.ts';
import { reconcile } from '../../lambda/use-cases/recounts/reconcile.ts';
import { memoryDeps } from '../../test/support/memory/deps.ts';
import { MemoryLedger } from '../../test/support/memory/ledger.ts';
import { peakMemoryMb } from '../child/peak-memory.ts';
import { serve } from '../child/serve.ts';
import type { HeavyCase, HeavyFigures } from './cases.ts';

/** The child process: one reconcile of a tenant whose reservations are made up page by page, as a query brings them. */

const tenant = 'acme';
const minute = 60_000;
/** DynamoDB ends a page of a query after 1 MB. */
const pageBytes = 1024 * 1024;
/** A reservation's item without claims, and what each claim adds to it. */
const itemBytes = 280;
const claimBytes = 71;

class HeavyLedger extends MemoryLedger {
  readonly #shape: HeavyCase;
  readonly #nowMs: number;

  constructor(shape: HeavyCase, nowMs: number) {
    super();
    this.#shape = shape;
    this.#nowMs = nowMs;
  }

  override reservations = () => this.#pages();

  async *#pages(): AsyncIterable<readonly Reservation[]> {
    const { reservations, claimsEach } = this.#shape;
    const perPage = Math.max(1, Math.floor(pageBytes / (itemBytes + claimBytes * claimsEach)));
    for (let first = 0; first < reservations; first += perPage) {
      const count = Math.min(perPage, reservations - first);
      // As JSON and back, so that strings are new ones, as those from the network are.
      const items = JSON.parse(
        JSON.stringify(Array.from({ length: count }, (_, index) => this.#item(first + index))),
      );
      yield (items as unknown[]).map(parseReservation);
    }
  }

  #item(index: number) {
    const { reservations, claimsEach, repos } = this.#shape;
    const oid = (claim: number) => (index * claimsEach + claim).toString(16).padStart(64, '0');
    return {
      reservationId: index.toString(16).padStart(32, '0'),
      repo: `repo${Math.floor((index * repos) / reservations)}`,
      state: 'issued',
      claims: Object.fromEntries(Array.from({ length: claimsEach }, (_, claim) => [oid(claim), 1000])),
      createdAtMs: this.#nowMs,
      expiresAtMs: this.#nowMs + 30 * minute,
      deadAtMs: this.#nowMs + 36 * minute,
    };
  }
}

async function run(shape: HeavyCase): Promise<HeavyFigures> {
  const plain = memoryDeps();
  const nowMs = plain.clock.nowMs();
  const ledger = new HeavyLedger(shape, nowMs);
  const counted = { storedBytes: 0, objectCount: 0, countedAtMs: nowMs };
  await ledger.createTenant({
    tenant,
    plan: null,
    limitBytes: 1e15,
    createdAtMs: nowMs,
    counted,
    dueAtMs: nowMs,
  });
  // What has arrived of each repo is what the scan is to look for.
  const scan: typeof plain.scan = {
    scan: async ({ lookFor = new Set() }) => {
      const names = shape.isStored ? [...lookFor] : [];
      const seen = new Map(names.map((name) => [name, 1000]));
      const stored = { storedBytes: 1000 * seen.size, objectCount: seen.size };
      return { kind: 'done', ...stored, seen, recent: new Set(), requests: 1 };
    },
  };
  const beganMs = performance.now();
  const outcome = await reconcile(memoryDeps({ ledger, scan }), { tenant, full: false });
  if (outcome.kind !== 'committed') throw new Error(`The reconcile ended as ${outcome.kind}.`);
  return {
    claims: outcome.tenant.claimCount,
    committedBytes: outcome.tenant.committedBytes,
    seconds: (performance.now() - beganMs) / 1000,
    peakMb: peakMemoryMb(),
  };
}

serve({ run });
