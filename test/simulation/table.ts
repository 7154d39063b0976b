import { parseReservation, tenantOfPartition } from '../../lambda/core/ledger/items.ts';
import { AwsServiceError } from '../../lambda/core/rules/errors.ts';
import type { Table } from '../../lambda/core/table/requests.ts';
import { fromStored } from '../../lambda/core/table/stored-names.ts';
import type { Operations, TableClient } from '../../lambda/core/table/table.ts';
import type { Item } from '../../local/table/expression.ts';
import { entryOf, type Index, indexes, keyOf, type Page, type Range } from '../../local/table/items.ts';
import { MemoryStore } from '../support/memory/memory-store.ts';
import { WatchedStore } from '../support/memory/table.ts';
import type { Actor } from './actor.ts';
import type { PortCall } from './mishaps.ts';
import type { Issued } from './promises.ts';

/** Items whose indexes may be out of date. */
export class AgingStore extends WatchedStore {
  /** Those of each index, as they were. */
  #aged: ReadonlyMap<string | undefined, readonly Item[]> | undefined;
  readonly #staleness: { isStale(tenant: string): boolean; onStaleRead(): void };

  /** @param staleness.isStale whether a read finds this tenant's items of an index as they were when it aged. */
  constructor(staleness: { isStale(tenant: string): boolean; onStaleRead(): void }) {
    super();
    this.#staleness = staleness;
  }

  /** From now on the indexes show each tenant as it is, or as it was now. */
  ageIndexes(): void {
    const entries = indexes.slice(1).map((index) => [index.name, [...this.all(index)]] as const);
    this.#aged = new Map(entries);
  }

  override read(range: Range, countMax: number): Page {
    const { index, partition } = range;
    const aged = this.#aged?.get(index.name)?.filter((item) => item[index.pk] === partition);
    if (aged === undefined) return super.read(range, countMax);
    const present = [...this.all(index)].filter((item) => item[index.pk] === partition);
    const stale = new Map<string, boolean>();
    const isStale = ({ pk }: Item) => {
      const tenant = tenantOfPartition(String(pk));
      const known = stale.get(tenant) ?? this.#staleness.isStale(tenant);
      stale.set(tenant, known);
      return known;
    };
    const found = [...present.filter((item) => !isStale(item)), ...aged.filter(isStale)];
    if (!isSame(found, present, index)) this.#staleness.onStaleRead();
    const asRead = new MemoryStore();
    for (const item of found)
      asRead.write({ key: keyOf(item), before: undefined, after: entryOf(item, index) });
    return asRead.read(range, countMax);
  }
}

function isSame(some: readonly Item[], others: readonly Item[], { sk }: Index): boolean {
  const namesOf = (items: readonly Item[]) =>
    items.map((item) => `${item['pk']} ${item['sk']} ${item[sk]}`).sort();
  return namesOf(some).join() === namesOf(others).join();
}

/** Tells when a batch is granted something, and when a repo that was being deleted is opened again. */
export function watchLedger(
  store: WatchedStore,
  tell: {
    onIssue(tenant: string, issued: Issued): void;
    onOpening(path: { tenant: string; repo: string }): void;
  },
): void {
  store.watch(({ key: { pk, sk }, before, after }) => {
    if (before === undefined || after === undefined) return;
    const tenant = tenantOfPartition(pk);
    const isIssued = before['state'] === 'pending' && after['state'] === 'issued';
    if (isIssued && sk.startsWith('RESERVATION#')) {
      const { entries, chunked } = parseReservation(fromStored(after));
      tell.onIssue(tenant, { reservation: parseReservation(fromStored(before)), entries, chunked });
    }
    const isOpened = before['closedAtMs'] !== undefined && after['closedAtMs'] === undefined;
    if (isOpened && sk.startsWith('REPO#')) tell.onOpening({ tenant, repo: String(after['repo']) });
  });
}

/** Reads of many items, of which a page may take long. */
const longReads = new Set<PortCall | undefined>([
  'reservations',
  'reservationsOf',
  'repos',
  'deletions',
  'deletionsOf',
  'shards',
  'seen',
]);

/** Their items are small: many fit into one answer. */
const smallItems = new Set<PortCall | undefined>(['shards', 'dueTenants']);
const smallPerItem = 50;

type Input<O extends keyof Operations> = Operations[O][0];

const reads = new Set<keyof Operations>(['GetItem', 'BatchGetItem', 'Query']);

/**
 * The table as one function sees it. Every operation takes time, and may be refused, lost, doubled or late. So what an
 * adapter does in two operations may end between them.
 *
 * @param input.call the method of the ledger whose operations these are: a story names it.
 * @param input.fail called with a mistake of ours that the adapter would take for an outage.
 */
export function tableOf(
  actor: Actor,
  input: { table: Table; pageSize: number; call?: PortCall | undefined; fail(error: unknown): void },
): Table {
  const { table, call, fail } = input;
  const pageSize = smallItems.has(call) ? smallPerItem * input.pageSize : input.pageSize;
  const asHalf = answeringHalf(actor, table.client);
  const together = convoy((all) => actor.operation('read', all, call));
  const client: TableClient = {
    async send(operation, asked) {
      const query = operation === 'Query' ? (asked as Input<'Query'>) : undefined;
      const sent = query ? { ...query, Limit: Math.min(pageSize, query.Limit ?? pageSize) } : asked;
      const apply = () => settled(asHalf.send(operation, sent as typeof asked), fail);
      const answer = await (query?.IndexName !== undefined
        ? together(apply)
        : query && longReads.has(call)
          ? actor.page('read', apply, call)
          : actor.operation(reads.has(operation) ? 'read' : 'write', apply, call));
      if ('refusal' in answer) throw answer.refusal;
      return answer.output;
    },
  };
  return { ...table, client, pauseUpTo: (atMostMs) => actor.pauseUpTo(atMostMs) };
}

/** Reads of an index that are sent at the same moment travel together: of what is due there are twelve. */
function convoy(travel: (all: () => Promise<unknown[]>) => Promise<unknown[]>) {
  let waiting: (() => Promise<unknown>)[] = [];
  let journey: Promise<unknown[]> | undefined;
  return async <T>(read: () => Promise<T>): Promise<T> => {
    const place = waiting.push(read) - 1;
    journey ??= Promise.resolve().then(() => {
      const all = waiting;
      [waiting, journey] = [[], undefined];
      return travel(() => Promise.all(all.map((each) => each())));
    });
    return (await journey)[place] as T;
  };
}

/** A refusal is an answer too: it travels, and may be lost. */
async function settled<T>(
  sent: Promise<T>,
  fail: (error: unknown) => void,
): Promise<{ output: T } | { refusal: unknown }> {
  try {
    return { output: await sent };
  } catch (refusal) {
    if (!isRefusal(refusal)) fail(refusal);
    return { refusal };
  }
}

/** What the table may answer to a function that makes no mistake: even that may have too much to write. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof AwsServiceError)) return false;
  return error.code === 'ConditionalCheckFailedException' || / size has exceeded /.test(error.message);
}

/** A table that is throttled may answer for some keys of a BatchGetItem. */
function answeringHalf(actor: Actor, client: TableClient): TableClient {
  return {
    async send(operation, input) {
      const [[name, { Keys, ...how }] = ['', { Keys: [] }]] =
        operation === 'BatchGetItem' ? Object.entries((input as Input<'BatchGetItem'>).RequestItems) : [];
      const taken = Math.ceil(Keys.length / 2);
      if (taken === Keys.length || !actor.isUnlucky('fail')) return client.send(operation, input);
      const half = { RequestItems: { [name]: { ...how, Keys: Keys.slice(0, taken) } } };
      const answer = await client.send(operation, half as typeof input);
      return { ...answer, UnprocessedKeys: { [name]: { ...how, Keys: Keys.slice(taken) } } };
    },
  };
}
