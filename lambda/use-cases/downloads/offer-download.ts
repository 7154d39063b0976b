import type { Deps } from '../../deps.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { objectKey } from '../../rules/names.ts';
import { nextMonthMs } from '../../rules/text.ts';
import type { SignedRequest } from '../../store/rules/store.ts';
import { findGone } from './find-gone.ts';
import { type FindOfferedDeps, findOffered } from './find-offered.ts';
import { meterOffer, monthlyOffer } from './meter-offer.ts';

export type DownloadVerdict =
  | { readonly kind: 'download'; readonly get: SignedRequest; readonly expiresInMs: number }
  | { readonly kind: 'missing' }
  /** A clean-up has deleted it, because nothing needed it. */
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
export interface FoundDownloads {
  readonly atMs: number;
  /** oid → stored bytes. */
  readonly stored: ReadonlyMap<string, number>;
  /** oid → when a clean-up deleted it. */
  readonly gone: ReadonlyMap<string, number>;
  /** oid → URL, of what is stored with the bytes that were asked for. */
  readonly signed: ReadonlyMap<string, SignedRequest>;
}

type OfferDeps = FindOfferedDeps & Pick<Deps, 'signer' | 'downloads' | 'ledger' | 'ids' | 'log'>;

/**
 * Signs a download for each object that is stored, and meters them. Downloads never depend on the limit of what is stored.
 *
 * @param input.tokenId whom it is metered for.
 * @throws {StoreUnavailableError}
 * @throws {LedgerUnavailableError} only if the tenant has a limit: otherwise nothing waits for the meter.
 */
export async function offerDownload(
  deps: OfferDeps,
  input: DownloadQuestion & { tokenId: string },
): Promise<OfferDownloadOutcome> {
  return offerFound(deps, { ...input, found: await findDownloads(deps, input) });
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
    offered.map(async ([oid]) => {
      const key = objectKey({ ...place, oid });
      const get = await signer.signDownload({ key, signedAtMs: atMs, lifetimeMs: settings.urlLifetimeMs });
      return [oid, get] as const;
    }),
  );
  return { atMs, stored, gone, signed: new Map(signed) };
}

/** Meters what was found, and answers with it. @throws {LedgerUnavailableError} only if the tenant has a limit. */
export async function offerFound(
  deps: Pick<Deps, 'downloads' | 'ids' | 'log' | 'clock' | 'settings'>,
  input: DownloadQuestion & { tokenId: string; found: FoundDownloads },
): Promise<OfferDownloadOutcome> {
  const { tenant, tokenId, repo, objects, found } = input;
  const { atMs } = found;
  const sum = { bytes: sumOf(found), objects: found.signed.size };
  if ((await meterOffer(deps, { tenant, repo, tokenId, atMs, ...sum })) === 'over-limit') {
    const { bytes: offeredBytes } = await monthlyOffer(deps, { tenant: tenant.tenant, atMs });
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
  const goneAtMs = gone.get(oid);
  return goneAtMs === undefined ? { kind: 'missing' } : { kind: 'gone', atMs: goneAtMs };
}

const sumOf = ({ signed, stored }: FoundDownloads) =>
  [...signed.keys()].reduce((sum, oid) => sum + (stored.get(oid) ?? 0), 0);
