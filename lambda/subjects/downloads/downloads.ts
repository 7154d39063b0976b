import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { emptiedName } from '../../core/ledger/rules/deletion.ts';
import type { RepoPath, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { dayAfterMs, dayOf, monthOf, nextMonthMs } from '../../core/rules/dates.ts';
import { LedgerUnavailableError } from '../../core/rules/errors.ts';
import {
  compareKeys,
  isOid,
  isRepoName,
  objectKey,
  repoPrefix,
  tenantPrefix,
} from '../../core/rules/names.ts';
import { type FindStoredDeps, findStored, type Question, remembering } from '../../core/scan/find-stored.ts';
import { nextPage, type SignedRequest } from '../../core/store/rules/store.ts';
import type { DownloadDay, DownloadOffer, DownloadPlace, Downloads, PublicOffer } from './download-store.ts';
import type { DownloadPorts } from './ports.ts';
import { type PublicRead, publicBytesOf, publicObjectBytesMin, publicTokenId } from './rules/public-reads.ts';
import { askUpstream, type UpstreamRepo, type UpstreamVerdict } from './upstream.ts';

/**
 * Which of the objects that the store does not have were deleted, and when.
 *
 * @returns undefined: the ledger does not say.
 * @param input.oids if there are none, nothing is asked.
 */
export async function findGone(
  { ledger, log }: Pick<CoreDeps, 'ledger' | 'log'>,
  input: RepoPath & { oids: readonly string[] },
): Promise<ReadonlyMap<string, number> | undefined> {
  if (input.oids.length === 0) return new Map();
  try {
    const found = await ledger.goneOf({ ...input, oids: [...input.oids, emptiedName] });
    const emptiedAtMs = found.get(emptiedName) ?? 0;
    return new Map([...found].filter(([, goneAtMs]) => goneAtMs > emptiedAtMs));
  } catch (error) {
    if (!(error instanceof LedgerUnavailableError)) throw error;
    log.warn("can't tell why objects are missing", { tenant: input.tenant, repo: input.repo });
    return undefined;
  }
}

type FindOfferedDeps = FindStoredDeps & Pick<CoreDeps, 'knownObjects'>;

/**
 * Finds out which objects of a repo may be downloaded. What was listed within the last minute is not asked for again: if
 * it was deleted meanwhile, its URL says 404, as it does when the object is deleted just after the answer.
 *
 * @returns oid → stored bytes. Objects that are not stored are absent.
 * @throws {StoreUnavailableError}
 */
export async function findOffered(deps: FindOfferedDeps, question: Question): Promise<Map<string, number>> {
  const { knownObjects, clock } = deps;
  const { oids, repoObjects } = question;
  const path = repoPrefix(question);
  const listedAtMs = clock.nowMs();
  const known = knownObjects.of(path, listedAtMs);
  const found = new Map<string, number>();
  for (const oid of oids) {
    const bytes = known?.get(oid);
    if (bytes !== undefined) found.set(oid, bytes);
  }
  const left = oids.filter((oid) => !found.has(oid));
  if (left.length === 0) return found;
  const asked = await findStored(deps, {
    ...question,
    oids: left,
    ...remembering(knownObjects, { path, repoObjects, listedAtMs }),
  });
  for (const [oid, bytes] of asked) found.set(oid, bytes);
  return found;
}

/** Random characters of an offer's `writeId`. */
const writeIdCharacters = 8;

/**
 * Meters what a batch offers: right before the answer, so that whatever failed until then was not metered.
 *
 * Without a limit a table that does not answer keeps nobody from downloading: then the offer is not metered. The month is
 * what the limit is compared with, and what is billed; a day that is not written down only misses in the list of days.
 *
 * @throws {LedgerUnavailableError} if the tenant has a limit. The month may have been metered if no attempt was answered.
 */
export async function meterOffer(
  { downloads, ids, log }: Pick<CoreDeps, 'ids' | 'log'> & Pick<DownloadPorts, 'downloads'>,
  {
    tenant,
    ...sum
  }: Omit<DownloadOffer, 'tenant' | 'writeId'> & {
    tenant: Pick<TenantRecord, 'tenant' | 'downloadLimitBytes'>;
  },
): Promise<'metered' | 'over-limit'> {
  if (sum.objects === 0) return 'metered';
  const limitBytes = tenant.downloadLimitBytes;
  const offer = { ...sum, tenant: tenant.tenant, writeId: ids.random(writeIdCharacters) };
  const orLog = (writing: Promise<unknown>) =>
    writing.catch((error: unknown) => {
      log.warn('downloads not metered', { tenant: offer.tenant, repo: offer.repo, error });
    });
  if (limitBytes === null) {
    await Promise.all([orLog(downloads.meter({ ...offer, limitBytes })), orLog(downloads.addToDay(offer))]);
    return 'metered';
  }
  const outcome = await downloads.meter({ ...offer, limitBytes });
  if (outcome === 'metered') await orLog(downloads.addToDay(offer));
  return outcome;
}

export type DownloadVerdict =
  | { readonly kind: 'download'; readonly get: SignedRequest; readonly expiresInMs: number }
  | { readonly kind: 'missing' }
  /** It's missing here, and what the git host says of it. */
  | UpstreamVerdict
  /** It was deleted here. */
  | { readonly kind: 'gone'; readonly atMs: number }
  | { readonly kind: 'size-conflict'; readonly storedBytes: number };

export type OfferDownloadOutcome =
  | { readonly kind: 'answered'; readonly verdicts: ReadonlyMap<string, DownloadVerdict> }
  /** The month's limit would be exceeded. Nothing was offered. */
  | {
      readonly kind: 'over-limit';
      readonly limitBytes: number;
      /** Offered in this month so far. */
      readonly offeredBytes: number;
      readonly askedBytes: number;
      readonly resetsAtMs: number;
    };

interface DownloadQuestion {
  /** As read when the request was authenticated. */
  readonly tenant: TenantRecord;
  readonly repo: string;
  /** How many objects the repo had when it was last counted. undefined: it never was. */
  readonly repoObjects?: number | undefined;
  /** oid → bytes, as the client asks for them. */
  readonly objects: ReadonlyMap<string, number>;
}

/** What can be offered, with signed URLs: nothing of it is metered yet. */
interface FoundDownloads {
  readonly atMs: number;
  /** oid → stored bytes. */
  readonly stored: ReadonlyMap<string, number>;
  /** oid → when it was deleted. undefined: the ledger does not say. */
  readonly gone: ReadonlyMap<string, number> | undefined;
  /** oid → URL, of what is stored with the bytes that were asked for. */
  readonly signed: ReadonlyMap<string, SignedRequest>;
}

type OfferDeps = FindOfferedDeps &
  Pick<CoreDeps, 'signer' | 'ledger' | 'ids' | 'log'> &
  Pick<DownloadPorts, 'downloads'>;

/**
 * Signs a download for each object that is stored, and meters them. Downloads never depend on the limit of what is stored.
 *
 * @param input.tokenId whom it is metered for.
 * @param input.upstream where else to ask for what is missing, but for what was deleted here. It is metered there.
 * @throws {StoreUnavailableError}
 * @throws {LedgerUnavailableError} only if the tenant has a limit: otherwise nothing waits for the meter.
 */
export async function offerDownload(
  deps: OfferDeps,
  input: DownloadQuestion & { tokenId: string; upstream?: UpstreamRepo | undefined },
): Promise<OfferDownloadOutcome> {
  const found = await findDownloads(deps, input);
  const elsewhere =
    input.upstream && (await findUpstream(deps, { ...input, upstream: input.upstream, found }));
  const outcome = await offerFound(deps, { ...input, found });
  if (outcome.kind !== 'answered' || !elsewhere) return outcome;
  return { kind: 'answered', verdicts: new Map([...outcome.verdicts, ...elsewhere]) };
}

async function findUpstream(
  deps: OfferDeps,
  input: DownloadQuestion & { upstream: UpstreamRepo; found: FoundDownloads },
): Promise<ReadonlyMap<string, UpstreamVerdict> | undefined> {
  const { tenant, repo, upstream, objects } = input;
  const { stored, gone } = input.found;
  // What may have been deleted here doesn't come back.
  if (!gone) return undefined;
  const missing = new Map([...objects].filter(([oid]) => !stored.has(oid) && !gone.has(oid)));
  if (missing.size === 0) return undefined;
  const lifetimeMs = deps.settings.urlLifetimeMs;
  return askUpstream(deps, { tenant: tenant.tenant, repo, upstream, objects: missing, lifetimeMs });
}

/**
 * Finds and signs what can be offered. What the store does not have, or has with other bytes than asked for, never counts:
 * a client may ask for anything.
 *
 * @throws {StoreUnavailableError}
 */
export async function findDownloads(deps: OfferDeps, input: DownloadQuestion): Promise<FoundDownloads> {
  const { clock, signer, settings } = deps;
  const { tenant, repo, repoObjects, objects } = input;
  const atMs = clock.nowMs();
  const place = { tenant: tenant.tenant, repo };
  const stored = await findOffered(deps, { ...place, repoObjects, oids: [...objects.keys()] });
  const missing = [...objects.keys()].filter((oid) => !stored.has(oid));
  const gone = await findGone(deps, { ...place, oids: missing });
  const offered = [...objects].filter(([oid, sizeBytes]) => stored.get(oid) === sizeBytes);
  const signed = await Promise.all(
    offered.map(async ([oid, sizeBytes]) => {
      const key = objectKey({ ...place, oid });
      const times = { signedAtMs: atMs, lifetimeMs: settings.urlLifetimeMs };
      const get = await signer.signDownload({ key, sizeBytes, ...times });
      return [oid, get] as const;
    }),
  );
  return { atMs, stored, gone, signed: new Map(signed) };
}

/** Meters what was found, and answers with it. @throws {LedgerUnavailableError} only if the tenant has a limit. */
export async function offerFound(
  deps: Pick<CoreDeps, 'ids' | 'log' | 'clock' | 'settings'> & Pick<DownloadPorts, 'downloads'>,
  input: DownloadQuestion & { tokenId: string; found: FoundDownloads },
): Promise<OfferDownloadOutcome> {
  const { tenant, tokenId, repo, objects, found } = input;
  const { atMs } = found;
  const sum = { bytes: sumOf(found), objects: found.signed.size };
  if ((await meterOffer(deps, { tenant, repo, tokenId, atMs, ...sum })) === 'over-limit') {
    const month = { tenant: tenant.tenant, month: monthOf(atMs) };
    const { bytes: offeredBytes } = await deps.downloads.month(month);
    const limitBytes = tenant.downloadLimitBytes ?? Number.MAX_SAFE_INTEGER;
    return {
      kind: 'over-limit',
      limitBytes,
      offeredBytes,
      askedBytes: sum.bytes,
      resetsAtMs: nextMonthMs(atMs),
    };
  }
  const expiresInMs = atMs + deps.settings.urlLifetimeMs - deps.clock.nowMs();
  const verdicts = [...objects.keys()].map(
    (oid) => [oid, verdictOf(oid, { ...found, expiresInMs })] as const,
  );
  return { kind: 'answered', verdicts: new Map(verdicts) };
}

function verdictOf(oid: string, found: FoundDownloads & { expiresInMs: number }): DownloadVerdict {
  const { stored, gone, signed, expiresInMs } = found;
  const get = signed.get(oid);
  if (get) return { kind: 'download', get, expiresInMs };
  const storedBytes = stored.get(oid);
  if (storedBytes !== undefined) return { kind: 'size-conflict', storedBytes };
  const goneAtMs = gone?.get(oid);
  return goneAtMs === undefined ? { kind: 'missing' } : { kind: 'gone', atMs: goneAtMs };
}

const sumOf = ({ signed, stored }: FoundDownloads) =>
  [...signed.keys()].reduce((sum, oid) => sum + (stored.get(oid) ?? 0), 0);

export type OfferPubliclyOutcome =
  | OfferDownloadOutcome
  /** The repo's ceiling would be exceeded. Nothing was offered. */
  | (Omit<Extract<OfferDownloadOutcome, { kind: 'over-limit' }>, 'kind'> & { readonly kind: 'over-ceiling' });

/**
 * Offers downloads to somebody without a token. Over the repo's ceiling the store is not asked. What is found counts to the
 * ceiling, and then it is as any other offer, and counts in the tenant's month.
 *
 * @param input.tenant as read when the repo was found to be public.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function offerPublicly(
  deps: OfferDeps,
  input: Omit<DownloadQuestion, 'repo'> & { publicRead: PublicRead },
): Promise<OfferPubliclyOutcome> {
  const { downloads, clock } = deps;
  const { tenant, publicRead, objects } = input;
  const { repo, monthlyLimitBytes: limitBytes } = publicRead;
  const question = { tenant, repo, repoObjects: input.repoObjects, objects };
  const askedBytes = publicBytesOf(objects);
  if (limitBytes !== null) {
    const nowMs = clock.nowMs();
    const offeredBytes = await offeredIn(deps, { tenant, repo, nowMs });
    if (offeredBytes + askedBytes > limitBytes)
      return { kind: 'over-ceiling', limitBytes, offeredBytes, askedBytes, resetsAtMs: nextMonthMs(nowMs) };
  }
  const found = await findDownloads(deps, question);
  const offer = publicOfferOf(deps, { tenant, repo, objects, found });
  if ((await downloads.meterPublic({ ...offer, limitBytes })) === 'over-limit')
    return {
      kind: 'over-ceiling',
      limitBytes: limitBytes ?? Number.MAX_SAFE_INTEGER,
      offeredBytes: await offeredIn(deps, { tenant, repo, nowMs: found.atMs }),
      askedBytes: offer.bytes,
      resetsAtMs: nextMonthMs(found.atMs),
    };
  let isOffered = false;
  let keptBytes = 0;
  try {
    const outcome = await offerFound(deps, { ...question, tokenId: publicTokenId, found });
    isOffered = outcome.kind === 'answered';
    // The store was asked. Once the month is used up, nothing else would end that.
    keptBytes = publicObjectBytesMin * objects.size;
    return outcome;
  } finally {
    if (!isOffered) await giveBack(deps, { ...offer, bytes: offer.bytes - keptBytes });
  }
}

/** What anybody was offered in the month so far. */
async function offeredIn(
  { downloads }: Pick<DownloadPorts, 'downloads'>,
  { tenant, repo, nowMs }: { tenant: TenantRecord; repo: string; nowMs: number },
): Promise<number> {
  return (await downloads.publicMonth({ tenant: tenant.tenant, repo, month: monthOf(nowMs) })).bytes;
}

/** What an offer counts to the ceiling: of what it does not have, that it was looked for. */
function publicOfferOf(
  { ids }: Pick<CoreDeps, 'ids'>,
  input: DownloadQuestion & { found: FoundDownloads },
): PublicOffer {
  const { tenant, repo, objects, found } = input;
  const sizes = [...objects].map(([oid, sizeBytes]) => [oid, found.signed.has(oid) ? sizeBytes : 0] as const);
  return {
    tenant: tenant.tenant,
    repo,
    atMs: found.atMs,
    bytes: publicBytesOf(new Map(sizes)),
    objects: found.signed.size,
    writeId: ids.random(writeIdCharacters),
  };
}

/** If it fails, less of the ceiling is left than could be, which keeps nobody from what they were offered. */
async function giveBack(
  { downloads, ids, log }: Pick<CoreDeps, 'ids' | 'log'> & Pick<DownloadPorts, 'downloads'>,
  offer: PublicOffer,
): Promise<void> {
  const { tenant, repo, bytes, objects } = offer;
  const writeId = ids.random(writeIdCharacters);
  try {
    await downloads.correctPublic({ ...offer, bytes: -bytes, objects: -objects, writeId });
  } catch (error) {
    log.warn('downloads not corrected', { tenant, repo, error });
  }
}

type DayInput = Parameters<Downloads['days']>[0];

const readsMax = 20;
const readSizeMin = 200;

/**
 * A page of what was offered of a tenant's repos, by day, repo and token. What was offered of other repos than these is
 * read over, up to a bound for each request: a page may be short. Where the next one begins names none of the others.
 *
 * @param input.repos null: all of the tenant.
 * @throws {LedgerUnavailableError}
 */
export async function listDownloadDays(
  { downloads }: Pick<DownloadPorts, 'downloads'>,
  input: DayInput & { readonly repos: readonly string[] | null },
): Promise<{ days: readonly DownloadDay[]; next: DownloadPlace | null }> {
  const { repos, ...whole } = input;
  if (repos === null) return downloads.days(whole);
  const { pageSize, after, ...range } = whole;
  const names = [...repos].sort(compareKeys);
  const found: DownloadDay[] = [];
  let place = after;
  for (let reads = 0; reads < readsMax; reads += 1) {
    const { days, next } = await downloads.days({
      ...range,
      pageSize: Math.max(pageSize, readSizeMin),
      ...(place && { after: place }),
    });
    found.push(...days.filter(({ repo }) => names.includes(repo)));
    const last = found.length > pageSize ? found[pageSize - 1] : undefined;
    if (last) return { days: found.slice(0, pageSize), next: last };
    if (next === null) return { days: found, next: null };
    place = ownPlaceFrom(next, names);
  }
  return { days: found, next: place ?? null };
}

/** The place itself if it is of one of these repos, or else the place before the next one that is. */
function ownPlaceFrom(place: DownloadPlace, names: readonly string[]): DownloadPlace {
  if (names.includes(place.repo)) return place;
  const repo = names.find((name) => compareKeys(name, place.repo) > 0);
  if (repo !== undefined) return { day: place.day, repo, tokenId: '' };
  return { day: dayOf(dayAfterMs(Date.parse(place.day))), repo: names[0] ?? '', tokenId: '' };
}

interface StoredObject {
  readonly repo: string;
  readonly oid: string;
  readonly sizeBytes: number;
  /** undefined: the store does not say. */
  readonly lastModifiedMs: number | undefined;
}

interface StoredObjectPage {
  readonly objects: readonly StoredObject[];
  /** Repo → the sums of other keys below it, which count too. Those that are in no repo have an empty name. */
  readonly others: ReadonlyMap<string, { readonly objectCount: number; readonly sizeBytes: number }>;
  /** The last key of the page, relative to the tenant's path. null: no page follows. */
  readonly next: string | null;
}

/**
 * What lies in the store below a tenant's path, or one of its repos: one page. Keys that are no objects of
 * git-lfs are only summed up, so a page may be shorter than asked for, or empty, without being the last.
 *
 * @param input.after `next` of the page before.
 * @throws {StoreUnavailableError}
 */
export async function listStoredObjects(
  { listing }: Pick<CoreDeps, 'listing'>,
  input: { tenant: string; repo?: string; pageSize: number; after?: string },
): Promise<StoredObjectPage> {
  const { tenant, repo, pageSize, after } = input;
  const base = tenantPrefix(tenant);
  const page = await nextPage(listing, {
    prefix: repo === undefined ? base : repoPrefix({ tenant, repo }),
    maxKeys: pageSize,
    readsTimes: true,
    ...(after !== undefined && { startAfter: base + after }),
  });
  const objects: StoredObject[] = [];
  const others = new Map<string, { objectCount: number; sizeBytes: number }>();
  for (let index = 0; index < page.keyCount; index += 1) {
    const path = page.keyAt(index).slice(base.length);
    const [name = '', oid = '', ...deeper] = path.split('/');
    const sizeBytes = page.sizeAt(index);
    if (deeper.length === 0 && isRepoName(name) && isOid(oid)) {
      objects.push({ repo: name, oid, sizeBytes, lastModifiedMs: page.lastModifiedMsAt(index) });
    } else {
      const folder = path.includes('/') ? name : '';
      const sums = others.get(folder) ?? { objectCount: 0, sizeBytes: 0 };
      others.set(folder, { objectCount: sums.objectCount + 1, sizeBytes: sums.sizeBytes + sizeBytes });
    }
  }
  return {
    objects,
    others,
    next: page.isTruncated ? page.keyAt(page.keyCount - 1).slice(base.length) : null,
  };
}
