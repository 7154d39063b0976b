import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { emptiedName } from '../../core/ledger/rules/deletion.ts';
import type { RepoPath, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import type { Gone } from '../../core/ledger/watch-store.ts';
import { LedgerUnavailableError } from '../../core/rules/errors.ts';
import { objectKey, repoPrefix } from '../../core/rules/names.ts';
import { type FindStoredDeps, findStored, type Question, remembering } from '../../core/scan/find-stored.ts';
import type { SignedRequest } from '../../core/store/rules/store.ts';
import type { FrontPorts, Upstream } from '../../frame/access/seams.ts';
import type { DownloadVerdict, LfsPorts, OfferDownloadOutcome, UpstreamVerdict } from './seams.ts';

/**
 * Which of the objects that the store does not have were deleted, when, and by which rule.
 *
 * @returns undefined: the ledger does not say.
 * @param input.oids if there are none, nothing is asked.
 */
export async function findGone(
  { ledger, log }: Pick<CoreDeps, 'ledger' | 'log'>,
  input: RepoPath & { oids: readonly string[] },
): Promise<ReadonlyMap<string, Gone> | undefined> {
  if (input.oids.length === 0) return new Map();
  try {
    const found = await ledger.goneOf({ ...input, oids: [...input.oids, emptiedName] });
    const emptiedAtMs = found.get(emptiedName)?.atMs ?? 0;
    return new Map([...found].filter(([, { atMs }]) => atMs > emptiedAtMs));
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

export interface DownloadQuestion {
  /** As read when the request was authenticated. */
  readonly tenant: TenantRecord;
  readonly repo: string;
  /** How many objects the repo had when it was last counted. undefined: it never was. */
  readonly repoObjects?: number | undefined;
  /** oid → bytes, as the client asks for them. */
  readonly objects: ReadonlyMap<string, number>;
}

/** What can be offered, with signed URLs: nothing of it is metered yet. */
export interface FoundDownloads {
  readonly atMs: number;
  /** oid → stored bytes. */
  readonly stored: ReadonlyMap<string, number>;
  /** oid → when it was deleted. undefined: the ledger does not say. */
  readonly gone: ReadonlyMap<string, Gone> | undefined;
  /** oid → URL, of what is stored with the bytes that were asked for. */
  readonly signed: ReadonlyMap<string, SignedRequest>;
}

export type FindDeps = FindOfferedDeps & Pick<CoreDeps, 'signer' | 'ledger' | 'log'>;
export type OfferDeps = FindDeps & Pick<FrontPorts, 'meters'> & Pick<LfsPorts, 'readThrough'>;

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
  input: DownloadQuestion & { tokenId: string; upstream?: Upstream | undefined },
): Promise<OfferDownloadOutcome> {
  const found = await findDownloads(deps, input);
  const elsewhere =
    input.upstream && (await findUpstream(deps, { ...input, upstream: input.upstream, found }));
  const outcome = await offerFound(deps, { ...input, found });
  if (outcome.kind !== 'answered' || !elsewhere) return outcome;
  return { kind: 'answered', verdicts: new Map([...outcome.verdicts, ...elsewhere]) };
}

/** What was deleted here doesn't come back. */
async function findUpstream(
  { readThrough, settings }: Pick<OfferDeps, 'readThrough' | 'settings'>,
  input: DownloadQuestion & { upstream: Upstream; found: FoundDownloads },
): Promise<ReadonlyMap<string, UpstreamVerdict> | undefined> {
  const { tenant, repo, upstream } = input;
  const { stored, gone } = input.found;
  if (!gone || !readThrough) return undefined;
  const objects = new Map([...input.objects].filter(([oid]) => !stored.has(oid) && !gone.has(oid)));
  if (objects.size === 0) return undefined;
  const lifetimeMs = settings.urlLifetimeMs;
  return readThrough.ask({ tenant: tenant.tenant, repo, upstream, objects, lifetimeMs });
}

/**
 * Finds and signs what can be offered. What the store does not have, or has with other bytes than asked for, never counts:
 * a client may ask for anything.
 *
 * @throws {StoreUnavailableError}
 */
export async function findDownloads(deps: FindDeps, input: DownloadQuestion): Promise<FoundDownloads> {
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

/** Offers what was found, unless a meter refuses. @throws {LedgerUnavailableError} as meters do. */
export async function offerFound(
  deps: Pick<CoreDeps, 'clock' | 'settings'> & Pick<FrontPorts, 'meters'>,
  input: DownloadQuestion & { tokenId: string; found: FoundDownloads },
): Promise<OfferDownloadOutcome> {
  const { tenant, tokenId, repo, objects, found } = input;
  const { atMs } = found;
  const offer = { tenant, repo, tokenId, atMs, bytes: sumOf(found), objects: found.signed.size };
  for (const meter of offer.objects > 0 ? deps.meters : []) {
    const overLimit = await meter(offer);
    if (overLimit) return overLimit;
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
  const deleted = gone?.get(oid);
  return deleted ? { kind: 'gone', ...deleted } : { kind: 'missing' };
}

const sumOf = ({ signed, stored }: FoundDownloads) =>
  [...signed.keys()].reduce((sum, oid) => sum + (stored.get(oid) ?? 0), 0);
