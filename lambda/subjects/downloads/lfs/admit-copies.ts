import { admitUpload } from '../../../core/ledger/admit-upload.ts';
import type { CoreDeps } from '../../../core/ledger/core-deps.ts';
import { fitsBeside, limitsOf } from '../../../core/ledger/rules/limits.ts';
import { sumEntries } from '../../../core/ledger/rules/reservation.ts';
import type {
  AdmitUploadDeps,
  AdmitUploadInput,
  AdmitUploadOutcome,
  UploadVerdict,
} from '../../../core/ledger/upload-batch.ts';
import { findStored } from '../../../core/scan/find-stored.ts';
import type { SignedRequest } from '../../../core/store/rules/store.ts';
import type { DownloadPorts } from '../ports.ts';
import { isCopying } from '../rules/copies.ts';
import type { CopyQueue } from './messages.ts';

/** Who is held to account for copies that don't arrive: no user's pushes wait for them. */
const maker = 'read-through';
/** URLs that expire sooner are of no use. */
export const leftMsMin = 60_000;

export type AdmitCopiesDeps = AdmitUploadDeps &
  Pick<DownloadPorts, 'copies'> & { readonly copyQueue: CopyQueue };

/** What another host offers to download. */
export interface UpstreamOffer {
  readonly sizeBytes: number;
  readonly get: SignedRequest;
  readonly expiresInMs: number;
}

/**
 * Admits copies of what users get from their git host, as any upload, and hands them out. Only what needs no headers is
 * copied: they can have the user's token. Nothing is copied beyond a limit, and nobody is told: the download goes on, and
 * waits for no count.
 *
 * @param input.offers oid → what the host offers.
 */
export async function admitCopies(
  deps: AdmitCopiesDeps,
  input: Pick<AdmitUploadInput, 'tenant' | 'repo' | 'repoObjects' | 'isOfLfs' | 'watch' | 'storageClass'> & {
    offers: ReadonlyMap<string, UpstreamOffer>;
  },
): Promise<void> {
  const { offers, ...asked } = input;
  const { tenant, repo } = asked;
  if (!deps.copyQueue.isOn) return;
  const place = { tenant: tenant.tenant, repo, nowMs: deps.clock.nowMs() };
  const wanted = new Map([...offers].filter(([, offer]) => isCopyable(deps, offer)));
  const bytes = sumEntries(sizesOf(wanted));
  if (wanted.size === 0 || !fitsBeside(limitsOf(tenant, place), bytes)) return;
  try {
    const claimed = await claim(deps, { ...place, offers: wanted });
    if (claimed.size === 0) return;
    const objects = sizesOf(claimed);
    const outcome = await admitUpload(deps, {
      ...asked,
      user: null,
      madeBy: maker,
      isOptional: true,
      objects,
    });
    if (outcome.kind === 'answered') await send(deps, { ...place, offers: claimed, ...outcome });
  } catch (error) {
    deps.log.warn('objects not copied', { tenant: tenant.tenant, repo, error });
  }
}

/** What becomes of one object. */
export type CopyVerdict =
  | Extract<UploadVerdict, { kind: 'stored' | 'size-conflict' | 'over-limit' | 'no-space' }>
  /** It's being copied. */
  | { readonly kind: 'queued' }
  /** Nobody tries any more. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'missing' };

/**
 * Queues copies that somebody waits for, admitted as any upload of theirs, and tells how far others are. What is being
 * copied isn't queued again.
 *
 * @param input.objects all that is asked about. @param input.offers oid → where some of these are downloaded, without headers.
 * @throws {StoreUnavailableError | LedgerUnavailableError} and what the queue throws: then some may be noted as being copied,
 * and aren't, until their URLs expire.
 */
export async function importCopies(
  deps: AdmitCopiesDeps,
  input: AdmitUploadInput & { offers: ReadonlyMap<string, UpstreamOffer> },
): Promise<
  | { readonly kind: 'answered'; readonly verdicts: ReadonlyMap<string, CopyVerdict> }
  | Exclude<AdmitUploadOutcome, { kind: 'answered' }>
> {
  const { offers, ...asked } = input;
  const { objects, repo, repoObjects } = asked;
  const place = { tenant: asked.tenant.tenant, repo, nowMs: deps.clock.nowMs() };
  const notes = await deps.copies.find({ ...place, oids: objects.keys() });
  const verdicts = new Map<string, CopyVerdict>();
  for (const [oid, note] of notes) if (isCopying(note, place.nowMs)) verdicts.set(oid, { kind: 'queued' });
  const idle = [...objects.keys()].filter((oid) => !verdicts.has(oid));
  const wanted = new Map([...offers].filter(([oid]) => !verdicts.has(oid)));
  if (wanted.size > 0) {
    const outcome = await admitUpload(deps, { ...asked, objects: sizesOf(wanted) });
    if (outcome.kind !== 'answered') return outcome;
    const admitted = [...wanted].filter(([oid]) => outcome.verdicts.get(oid)?.kind === 'upload');
    const claimed = await claim(deps, { ...place, offers: new Map(admitted), isAgain: true });
    await send(deps, { ...place, offers: claimed, verdicts: outcome.verdicts });
    for (const [oid, verdict] of outcome.verdicts) verdicts.set(oid, ofUpload(verdict));
  }
  const rest = idle.filter((oid) => !wanted.has(oid));
  if (rest.length === 0) return { kind: 'answered', verdicts };
  const stored = await findStored(deps, { ...place, repoObjects, oids: rest });
  for (const oid of rest) {
    const storedBytes = stored.get(oid);
    const failed = notes.get(oid)?.failed ?? null;
    if (storedBytes === undefined)
      verdicts.set(oid, failed === null ? { kind: 'missing' } : { kind: 'failed', reason: failed });
    else if (storedBytes === objects.get(oid)) verdicts.set(oid, { kind: 'stored' });
    else verdicts.set(oid, { kind: 'size-conflict', storedBytes });
  }
  return { kind: 'answered', verdicts };
}

/** None of them is asked for in chunks. */
function ofUpload(verdict: UploadVerdict): CopyVerdict {
  const { kind } = verdict;
  return kind === 'upload' || kind === 'chunks' || kind === 'busy' ? { kind: 'queued' } : verdict;
}

const sizesOf = (offers: ReadonlyMap<string, UpstreamOffer>) =>
  new Map([...offers].map(([oid, { sizeBytes }]) => [oid, sizeBytes]));

function isCopyable(
  { settings }: Pick<CoreDeps, 'settings'>,
  { get, sizeBytes, expiresInMs }: UpstreamOffer,
): boolean {
  const needsNoHeaders = Object.keys(get.header).length === 0;
  return needsNoHeaders && sizeBytes <= settings.objectBytesMax && expiresInMs >= leftMsMin;
}

interface Place {
  readonly tenant: string;
  readonly repo: string;
  readonly nowMs: number;
}

/** @returns those that nobody else copies. */
async function claim(
  { copies, settings }: AdmitCopiesDeps,
  input: Place & { offers: ReadonlyMap<string, UpstreamOffer>; isAgain?: boolean },
): Promise<ReadonlyMap<string, UpstreamOffer>> {
  const { offers, ...place } = input;
  const claimed = await Promise.all(
    [...offers].map(async ([oid, offer]) => {
      const untilMs = place.nowMs + Math.min(offer.expiresInMs, settings.urlLifetimeMs);
      return (await copies.claim({ ...place, oid, untilMs })) ? [[oid, offer] as const] : [];
    }),
  );
  return new Map(claimed.flat());
}

/** Queues what was admitted. */
async function send(
  { copyQueue }: AdmitCopiesDeps,
  input: Place & {
    offers: ReadonlyMap<string, UpstreamOffer>;
    verdicts: ReadonlyMap<string, UploadVerdict>;
  },
): Promise<void> {
  const { tenant, repo, nowMs, offers, verdicts } = input;
  const messages = [...offers].flatMap(([oid, { sizeBytes, get, expiresInMs }]) => {
    const verdict = verdicts.get(oid);
    if (verdict?.kind !== 'upload') return [];
    const untilMs = nowMs + Math.min(expiresInMs, verdict.expiresInMs);
    return [{ tenant, repo, oid, sizeBytes, from: get.href, to: verdict.put, untilMs }];
  });
  await copyQueue.send(messages);
}
