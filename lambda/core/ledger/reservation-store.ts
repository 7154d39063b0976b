import { escaped, objectOf } from '../rules/stored.ts';
import { absent, all, exists, removingKeys, setting } from '../table/expressions.ts';
import {
  deleteItem,
  getItem,
  itemsBelow,
  keysAfter,
  methodsOn,
  moveToKey,
  onePage,
  pagesOf,
  putItem,
  type Table,
  untilWritten,
  updateItem,
} from '../table/requests.ts';
import { byDueIndex } from '../table/table.ts';
import { dueKey, ofRepo, parseReservation, reservationKey } from './items.ts';
import { onceMoreIdStart, type Reservation, type ReservationKey } from './rules/reservation.ts';
import type { RepoPath } from './rules/tenant.ts';

export interface ReservationPage {
  readonly reservations: readonly Reservation[];
  /** null: this is the last page. */
  readonly next: Omit<ReservationKey, 'tenant'> | null;
}

/** Reservation items: pending resolves once, to issued or to gone. */
export function reservationMethods(table: Table) {
  return methodsOn(table, {
    putReservation,
    issueReservation,
    endChunked,
    keepUnconfirmed,
    deleteReservation,
    voidReservation,
    readReservation,
    reservations,
    reservationsOf,
    listReservations,
  });
}

/**
 * Writes a new reservation. If it exists already, this is a retry of our own, and nothing happens.
 *
 * Never give it the table's TTL attribute (`expiryAttribute`). It may be the only record that a repo must be scanned:
 * if it expires, its bytes might never be counted.
 */
async function putReservation(
  table: Table,
  {
    tenant,
    reservation,
    dueAtMs,
  }: {
    tenant: string;
    reservation: Reservation;
    /** Its tenant is due from then on. Default: its `lookAtMs` or else its death. */
    dueAtMs?: number;
  },
): Promise<void> {
  const { id, entries, lookAtMs, ...rest } = reservation;
  // If it exists, this is our own retry after a lost answer: ids are random, so nobody else has this one.
  await putItem(table, {
    item: {
      ...reservationKey({ tenant, repo: rest.repo, reservationId: id }),
      ...dueKey({ kind: 'RESERVATION', tenant, dueAtMs: dueAtMs ?? lookAtMs ?? rest.lapsedAtMs }),
      reservationId: id,
      entries: objectOf(entries),
      lookAtMs: lookAtMs ?? undefined,
      ...rest,
    },
    condition: absent,
  });
}

/**
 * pending → issued, with the entries that were admitted. Its tenant is then due at its death. `gone`: it was voided
 * meanwhile.
 *
 * @param input.chunked which of the entries arrive in chunks, and by when at the latest.
 */
async function issueReservation(
  table: Table,
  input: ReservationKey & {
    entries: ReadonlyMap<string, number>;
    chunked?: { oids: readonly string[]; untilMs: number } | undefined;
  },
): Promise<'issued' | 'gone'> {
  const issued = { state: 'issued', entries: objectOf(input.entries) };
  const { oids, untilMs } = input.chunked ?? {};
  const result = await updateItem(table, {
    key: reservationKey(input),
    change: [
      oids
        ? setting({ ...issued, ...chunkedFields(oids), chunkedUntilMs: untilMs, [byDueIndex.sk]: untilMs })
        : setting(issued, { copies: { [byDueIndex.sk]: 'deadAtMs' } }),
    ],
    // A write that lands late must not bring back what has ended.
    condition: oids ? all(exists, '(#state = :pending OR #chunked = :chunked)') : exists,
    values: { ':pending': oids && 'pending' },
  });
  return result.ok ? 'issued' : 'gone';
}

const chunkedFields = (oids: Iterable<string>) => ({
  chunked: objectOf(new Map([...oids].map((oid) => [oid, true]))),
});

/**
 * Ends the claim of a chunked upload. After the last one of its reservation, that lapses as any other does, but no sooner
 * than now: a scan that began before may have missed what arrived. Once more, or late, it changes nothing.
 *
 * @param input.isGone nothing of it is stored, nor ever will be: its entry goes too.
 * @param input.endedMs nothing of it arrives after this, by any clock.
 * @returns `absent`: there's no such reservation, or no such upload in it.
 */
async function endChunked(
  table: Table,
  input: ReservationKey & { oid: string; isGone: boolean; endedMs: number },
): Promise<'ended' | 'absent'> {
  const { oid, isGone, endedMs } = input;
  const key = reservationKey(input);
  return await untilWritten(table, async () => {
    const item = await getItem(table, key);
    const before = item && parseReservation(item);
    if (!item || !before?.chunked?.has(oid)) return { result: 'absent' as const };
    const left = [...before.chunked].filter((each) => each !== oid);
    const lapsedAtMs = Math.max(Number(item['lapsedAtMs']), endedMs);
    const { ok } = await updateItem(table, {
      key,
      change: [
        left.length > 0
          ? setting(chunkedFields(left))
          : setting({ ...chunkedFields(left), lapsedAtMs, [byDueIndex.sk]: before.lookAtMs ?? lapsedAtMs }),
        ...(isGone ? [removingKeys('claims', [escaped(oid)])] : []),
      ],
      condition: '#chunked = :before',
      values: { ':before': item['chunked'] },
    });
    return ok ? { result: 'ended' as const } : undefined;
  });
}

/**
 * Keeps a lapsed reservation as late: with the entries that no scan saw, and the time at which its repo is to be listed
 * again. `gone`: another reconcile deleted it.
 */
async function keepUnconfirmed(
  table: Table,
  input: ReservationKey & { entries: ReadonlyMap<string, number>; lookAtMs: number },
): Promise<'kept' | 'gone'> {
  const { lookAtMs } = input;
  const entries = objectOf(input.entries);
  const result = await updateItem(table, {
    key: reservationKey(input),
    change: [setting({ entries, lookAtMs, [byDueIndex.sk]: lookAtMs })],
    condition: exists,
  });
  return result.ok ? 'kept' : 'gone';
}

/** Deletes it in any state. */
async function deleteReservation(table: Table, input: ReservationKey): Promise<'deleted' | 'absent'> {
  const result = await deleteItem(table, { key: reservationKey(input), condition: exists });
  return result.ok ? 'deleted' : 'absent';
}

/** Deletes it if it is still pending. `issued`: too late, its URLs may be in use. */
async function voidReservation(table: Table, input: ReservationKey): Promise<'gone' | 'issued'> {
  const result = await deleteItem(table, {
    key: reservationKey(input),
    condition: `${absent} OR #state = :pending`,
    values: { ':pending': 'pending' },
  });
  return result.ok ? 'gone' : 'issued';
}

async function readReservation(table: Table, input: ReservationKey): Promise<Reservation | undefined> {
  const item = await getItem(table, reservationKey(input));
  return item && parseReservation(item);
}

/** All of a tenant's, repo by repo. */
async function* reservations(table: Table, tenant: string): AsyncIterable<readonly Reservation[]> {
  for await (const items of itemsBelow(table, { tenant, prefix: 'RESERVATION#' })) {
    const read: Reservation[] = [];
    for (const item of items) {
      const reservation = parseReservation(item);
      const { repo, id: reservationId } = reservation;
      // Older versions wrote keys without a repo.
      await moveToKey(table, item, reservationKey({ tenant, repo, reservationId }));
      read.push(reservation);
    }
    yield read;
  }
}

/**
 * Those of one repo. Its cost does not depend on other repos.
 *
 * @param input.ofUploads without those of deletes, whose ids begin with {@link onceMoreIdStart}: they are not read.
 */
async function* reservationsOf(
  table: Table,
  input: RepoPath & { ofUploads?: true },
): AsyncIterable<readonly Reservation[]> {
  const { tenant, repo, ofUploads } = input;
  const prefix = ofRepo('RESERVATION', repo);
  const query = keysAfter({ tenant, prefix, ...(ofUploads && { before: prefix + onceMoreIdStart }) });
  for await (const items of pagesOf(table, query))
    yield items.map(parseReservation).filter((reservation) => reservation.repo === repo);
}

/**
 * One page of a tenant's, or of those of one repo, in the order of {@link reservations}: at most `pageSize`, and no
 * more than one answer of the table, so a page can be shorter, or empty, without being the last.
 *
 * @param input.after key of a reservation that may be gone by now: `next` of the page before. With `repo` one of that
 * repo.
 */
async function listReservations(
  table: Table,
  input: {
    tenant: string;
    repo?: string;
    after?: Omit<ReservationKey, 'tenant'>;
    pageSize: number;
  },
): Promise<ReservationPage> {
  const { tenant, after } = input;
  const start = after && reservationKey({ tenant, ...after }).sk;
  const { found, last } = await pageOfRepos(table, {
    ...input,
    kind: 'RESERVATION',
    start,
    parse: parseReservation,
  });
  return { reservations: found, next: last ? { repo: last.repo, reservationId: last.id } : null };
}

/**
 * One answer of the table about a tenant's reservations or deletions, or those of one repo.
 *
 * @param input.start the sort key after which it begins.
 * @returns `last`: the last that was read, if more may follow.
 */
export async function pageOfRepos<T extends { readonly repo: string }>(
  table: Table,
  input: {
    tenant: string;
    repo?: string;
    kind: 'RESERVATION' | 'DELETION';
    start: string | undefined;
    pageSize: number;
    parse: (item: unknown) => T;
  },
): Promise<{ found: readonly T[]; last: T | undefined }> {
  const { tenant, repo, kind, start, pageSize, parse } = input;
  const prefix = repo === undefined ? (`${kind}#` as const) : ofRepo(kind, repo);
  const query = { ...keysAfter({ tenant, prefix, after: start }), Limit: pageSize };
  const { items, hasMore } = await onePage(table, query);
  const read = items.map(parse);
  const found = read.filter((each) => repo === undefined || each.repo === repo);
  return { found, last: hasMore ? read.at(-1) : undefined };
}
