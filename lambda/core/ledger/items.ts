import * as z from 'zod';
import { sha256Hex } from '../rules/hash.ts';
import { mapOf, nullable } from '../rules/stored.ts';
import { byDueIndex, dueShards, refuseNewerFormat } from '../table/table.ts';
import {
  type Deletion,
  type DeletionKey,
  deletionFields,
  type Removal,
  type RemovedObject,
} from './rules/deletion.ts';
import { type Reservation, type ReservationKey, reservationFields } from './rules/reservation.ts';
import { type Shard, shardSchema } from './rules/shard.ts';
import {
  type RepoLimit,
  type RepoPath,
  type RepoRecord,
  repoSchema,
  type StoredPoint,
  scannedLimit,
  type TenantRecord,
  tenantFields,
  type UnconfirmedLoad,
} from './rules/tenant.ts';

/** The ledger's records as items of the table. Every item read is parsed: a malformed one is a bug, and throws. */
const bytes = z.number().int();

/** What tells the format of a tenant's item, in every format. */
const formatOfTenant = z.object({ tenant: z.string(), format: z.number().default(1) });

/**
 * Names in the store → something. Pairs have those that a map loses (`__proto__`), with which the SDK takes no map
 * (`constructor`), or that DynamoDB takes in none (an empty one).
 */
const named = <T extends z.ZodType>(value: T) => ({
  objects: z.record(z.string(), value),
  pairs: z.array(z.tuple([z.string(), value])).optional(),
});

/** As attributes. */
export function namedFields<T>(objects: ReadonlyMap<string, T>) {
  const isPair = ([name]: [string, T]) => name === '' || name in Object.prototype;
  const entries = [...objects];
  return {
    objects: Object.fromEntries(entries.filter((entry) => !isPair(entry))),
    pairs: entries.filter(isPair),
  };
}

const namesIn = <T>({
  objects,
  pairs = [],
}: {
  objects: Record<string, T>;
  pairs?: [string, T][] | undefined;
}) => new Map([...Object.entries(objects), ...pairs]);

const tenantItem = tenantFields.extend({
  storedBytes: nullable(bytes),
  objectCount: nullable(z.number()),
  scannedAtMs: nullable(z.number()),
  [byDueIndex.sk]: z.number(),
  fullDueAtMs: z.number().optional(),
});

/** The limit of a repo, an attribute of its tenant's item. */
const repoLimit = z.looseObject({ limitBytes: bytes });

const reservationItem = reservationFields.extend({
  reservationId: z.string(),
  chunked: mapOf(z.literal(true)).optional(),
  chunkedUntilMs: z.number().optional(),
});

const deletionItem = deletionFields.extend({
  deletionId: z.string(),
  ...named(z.number()),
  removal: z
    .object({
      runMs: z.number(),
      beganMs: z.number(),
      endedMs: z.number(),
      ...named(z.tuple([bytes, z.number().nullable()])),
      packed: z.string().optional(),
    })
    .optional(),
});

export const repoKey = (path: RepoPath) => ({
  pk: `TENANT#${path.tenant}`,
  sk: `REPO#${inKey(path.repo)}`,
});
/** Shards have a partition of their own: all of them are read at once, and a large repo has thousands. */
export const shardKey = (path: RepoPath & { prefix: string }) => ({
  pk: shardPartition(path),
  sk: `SHARD#${path.prefix}`,
});
export const shardPartition = (path: RepoPath) => `SHARDS#${path.tenant}#${inKey(path.repo)}`;
export const reservationKey = (path: ReservationKey) => ({
  pk: `TENANT#${path.tenant}`,
  sk: `${ofRepo('RESERVATION', path.repo)}${path.reservationId}`,
});
export const deletionKey = (path: DeletionKey) => ({
  pk: `TENANT#${path.tenant}`,
  sk: `${ofRepo('DELETION', path.repo)}${path.deletionId}`,
});

export const emptiedKey = (path: RepoPath & { id: string }) => ({
  pk: `TENANT#${path.tenant}`,
  sk: `${ofRepo('EMPTIED', path.repo)}${path.id}`,
});

/**
 * What the sort keys of a repo's reservations, deletions or empty objects begin with. It also begins those of a folder whose name
 * continues with `#`, so the reader compares the name too.
 */
export function ofRepo(kind: 'RESERVATION' | 'DELETION' | 'EMPTIED', repo: string): string {
  return `${kind}#${inKey(repo)}#`;
}

/** UTF-8 bytes of a repo's name in a sort key, at most. DynamoDB takes no sort key above 1,024 bytes. */
const nameInKeyBytesMax = 800;

/** The name of a repo as a part of a key. A long one, which only a foreign folder can have, ends with its hash. */
export function inKey(repo: string): string {
  if (Buffer.byteLength(repo) <= nameInKeyBytesMax) return repo;
  return `${repo.slice(0, nameInKeyBytesMax / 4)}#${sha256Hex(repo)}`;
}

/** The tenant that owns a partition. */
export function tenantOfPartition(pk: string): string {
  return pk.slice('TENANT#'.length);
}

/** Attributes that put an item into the due index. The shard is a hash: spread evenly, and fixed for a tenant. */
export function dueKey(due: {
  kind: 'TENANT' | 'RESERVATION' | 'DELETION';
  tenant: string;
  dueAtMs: number;
}) {
  let hash = 0;
  for (const char of due.tenant) hash = (hash * 31 + char.charCodeAt(0)) >>> 0;
  return { [byDueIndex.pk]: `${due.kind}#${hash % dueShards}`, [byDueIndex.sk]: due.dueAtMs };
}

/**
 * Attributes of a tenant that is due for a full count, or for one of what may have changed. The index has the first
 * of the two times.
 */
export function tenantDueKey(due: { tenant: string; dueAtMs: number; lookAtMs: number | null }) {
  const { tenant, dueAtMs, lookAtMs } = due;
  const isFull = lookAtMs === null || dueAtMs <= lookAtMs;
  const index = dueKey({
    tenant,
    kind: isFull ? 'TENANT' : 'RESERVATION',
    dueAtMs: isFull ? dueAtMs : lookAtMs,
  });
  return { ...index, fullDueAtMs: dueAtMs, lookAtMs };
}

const limitFieldStart = 'limit ';

/** The attribute of a tenant's item that has the limit of a repo. No other begins like it, as none has a space. */
export function limitField(repo: string): string {
  return limitFieldStart + repo;
}

/** The one that has the counter of a repo with a limit: DynamoDB adds only to attributes, not to what is within one. */
export function counterField(repo: string): string {
  return `committed ${repo}`;
}

/**
 * Parses an item once, for as long as it is the same object that nobody can change: so the table in this process answers.
 * DynamoDB's answers are new.
 */
function once<T>(parse: (item: unknown) => T): (item: unknown) => T {
  const known = new WeakMap<object, T>();
  return (item) => {
    if (!Object.isFrozen(item)) return parse(item);
    const found = known.get(item as object) ?? parse(item);
    known.set(item as object, found);
    return found;
  };
}

/**
 * @throws {NewerFormatError}
 * @throws {ZodError} when the item is not a tenant's.
 */
export const parseTenant = once((item: unknown): TenantRecord => {
  // First: what follows `format` in a newer item may have another shape.
  refuseNewerFormat(formatOfTenant.parse(item));
  const {
    storedBytes,
    objectCount,
    scannedAtMs,
    [byDueIndex.sk]: firstDueAtMs,
    fullDueAtMs,
    ...rest
  } = tenantItem.parse(item);
  const scanned =
    scannedAtMs === null || storedBytes === null || objectCount === null
      ? null
      : { storedBytes, objectCount, scannedAtMs };
  // Without it, the full count is all that the tenant is due for.
  const dueAtMs = fullDueAtMs ?? firstDueAtMs;
  const repoLimits = repoLimitsIn(item as Record<string, unknown>);
  const record = { ...rest, dueAtMs, scanned, repoLimits };
  return fullDueAtMs === undefined ? { ...record, mayHaveOlderKeys: true } : record;
});

function repoLimitsIn(item: Record<string, unknown>): Map<string, RepoLimit> {
  const fields = Object.keys(item).filter((name) => name.startsWith(limitFieldStart));
  const limits = fields.map((name): [string, RepoLimit] => {
    const repo = name.slice(limitFieldStart.length);
    const { limitBytes, ...found } = repoLimit.parse(item[name]);
    const committedBytes = item[counterField(repo)];
    const scanned = committedBytes === undefined ? null : scannedLimit.parse({ ...found, committedBytes });
    return [repo, { limitBytes, scanned }];
  });
  return new Map(limits);
}

/** What is late, as an attribute. */
export const unconfirmedField = (unconfirmed: UnconfirmedLoad | undefined) =>
  unconfirmed && {
    ...unconfirmed,
    makers: Object.fromEntries(unconfirmed.makers),
    crowd: unconfirmed.crowd && Object.fromEntries(unconfirmed.crowd),
  };

/** @throws {ZodError} when the item is not a repo's. */
export const parseRepo = once((item: unknown): RepoRecord => repoSchema.parse(item));

/** `2026-11-21 5000 2026-11-28 6000`: days, each with what was stored. */
export const pointsText = (points: readonly StoredPoint[]): string =>
  points.map(({ day, storedBytes }) => `${day} ${storedBytes}`).join(' ');

/**
 * An older one may be the sum of several unconfirmed ones: its only entry is no oid, so no scan sees it. What it was made of is in
 * `partIds` and not read: where one of these is left, both count until their day is over.
 *
 * @throws {ZodError} when the item is not a reservation's.
 */
export const parseReservation = once((item: unknown): Reservation => {
  const { reservationId: id, chunked, chunkedUntilMs = 0, ...rest } = reservationItem.parse(item);
  const reservation = { ...rest, id };
  const oids = new Set(chunked?.keys());
  if (oids.size === 0) return reservation;
  const { expiresAtMs, lapsedAtMs } = rest;
  return {
    ...reservation,
    expiresAtMs: Math.max(expiresAtMs, chunkedUntilMs),
    lapsedAtMs: Math.max(lapsedAtMs, chunkedUntilMs),
    chunked: oids,
  };
});

/** @throws {ZodError} when the item is not a deletion's. */
export const parseDeletion = once((item: unknown): Deletion => {
  const { deletionId, objects, pairs, removal, ...rest } = deletionItem.parse(item);
  return {
    ...rest,
    id: deletionId,
    objects: namesIn({ objects, pairs }),
    ...(removal && { removal: parseRemoval(removal) }),
  };
});

function parseRemoval({
  objects,
  pairs,
  packed = '',
  ...removal
}: NonNullable<z.infer<typeof deletionItem>['removal']>): Removal {
  const removed = new Map<string, RemovedObject>();
  for (const [name, [sizeBytes, lastModifiedMs]] of namesIn({ objects, pairs }))
    removed.set(name, { sizeBytes, lastModifiedMs });
  for (const entry of packed.split(' ').filter((text) => text !== '')) {
    const [oid = '', size = '', time = ''] = entry.split(':');
    const lastModifiedMs = time === '' ? null : Number.parseInt(time, 36);
    const object = { sizeBytes: Number.parseInt(size, 36), lastModifiedMs };
    removed.set(Buffer.from(oid, 'base64').toString('hex'), object);
  }
  return { ...removal, objects: removed };
}

/** A removal as an attribute. @param options.isPacked its names are oids, in a text, which takes two thirds of a map. */
export function removalField({ objects, ...removal }: Removal, { isPacked }: { isPacked: boolean }) {
  if (!isPacked) {
    const sizes = [...objects].map(
      ([name, object]) => [name, [object.sizeBytes, object.lastModifiedMs]] as const,
    );
    return { ...removal, ...namedFields(new Map(sizes)) };
  }
  const entries = [...objects].map(([oid, { sizeBytes, lastModifiedMs }]) =>
    [Buffer.from(oid, 'hex').toString('base64'), sizeBytes.toString(36), lastModifiedMs?.toString(36)].join(
      ':',
    ),
  );
  return { ...removal, objects: {}, packed: entries.join(' ') };
}

/** @throws {ZodError} when the item is not a shard's. */
export const parseShard = once((item: unknown): Shard => shardSchema.parse(item));

/** A shard's attributes beside its key. */
export function shardFields({ counted, appliedRuns, stale, ...rest }: Shard) {
  const pairs = [...counted].map(([oid, notedAtMs]) => `${oid}:${notedAtMs.toString(36)}`);
  return {
    ...rest,
    ...(stale && { stale }),
    counted: pairs.join(' '),
    appliedRuns: [...appliedRuns],
  };
}
