import type { Deps } from '../deps.ts';
import type { SignedRequest } from '../store/rules/store.ts';
import { admitUpload } from './admit-upload.ts';
import { sumEntries } from './rules/reservation.ts';
import { type AdmitUploadDeps, type AdmitUploadInput, fitsBeside, limitsOf } from './upload-batch.ts';

/** Who is held to account for copies that don't arrive: no user's pushes wait for them. */
const maker = 'read-through';
/** URLs that expire sooner are of no use. */
const leftMsMin = 60_000;

export type AdmitCopiesDeps = AdmitUploadDeps & Pick<Deps, 'copies' | 'copyQueue'>;

/** What a git host offers to download. */
export interface UpstreamOffer {
  readonly sizeBytes: number;
  readonly get: SignedRequest;
  readonly expiresInMs: number;
}

/**
 * Admits copies of what users get from their git host, as any upload, and hands them out. Only what needs no headers is
 * copied: they can have the user's token. Nothing is copied beyond a limit, and nobody is told: the download goes on.
 *
 * @param input.offers oid → what the host offers.
 */
export async function admitCopies(
  deps: AdmitCopiesDeps,
  input: Pick<AdmitUploadInput, 'tenant' | 'repo' | 'repoObjects' | 'watch'> & {
    offers: ReadonlyMap<string, UpstreamOffer>;
  },
): Promise<void> {
  const { offers, ...place } = input;
  const { tenant, repo } = place;
  if (!deps.copyQueue.isOn) return;
  const nowMs = deps.clock.nowMs();
  const wanted = new Map(
    [...offers].flatMap(([oid, offer]) => (isCopyable(deps, offer) ? [[oid, offer.sizeBytes]] : [])),
  );
  if (wanted.size === 0 || !fitsBeside(limitsOf(tenant, { repo, nowMs }), sumEntries(wanted))) return;
  try {
    const objects = await claim(deps, { tenant: tenant.tenant, repo, wanted, nowMs });
    if (objects.size === 0) return;
    const outcome = await admitUpload(deps, { ...place, user: null, madeBy: maker, objects });
    if (outcome.kind !== 'answered') return;
    const messages = [...outcome.verdicts].flatMap(([oid, verdict]) => {
      const offer = offers.get(oid);
      if (!offer || verdict.kind !== 'upload') return [];
      const untilMs = nowMs + Math.min(offer.expiresInMs, verdict.expiresInMs);
      const { sizeBytes, get } = offer;
      return [{ tenant: tenant.tenant, repo, oid, sizeBytes, from: get.href, to: verdict.put, untilMs }];
    });
    await deps.copyQueue.send(messages);
  } catch (error) {
    deps.log.warn('objects not copied', { tenant: tenant.tenant, repo, error });
  }
}

function isCopyable(
  { settings }: Pick<Deps, 'settings'>,
  { get, sizeBytes, expiresInMs }: UpstreamOffer,
): boolean {
  const needsNoHeaders = Object.keys(get.header).length === 0;
  return needsNoHeaders && sizeBytes <= settings.objectBytesMax && expiresInMs >= leftMsMin;
}

/** @returns those that nobody else copies. */
async function claim(
  { copies, settings }: AdmitCopiesDeps,
  input: { tenant: string; repo: string; wanted: ReadonlyMap<string, number>; nowMs: number },
): Promise<ReadonlyMap<string, number>> {
  const { wanted, nowMs, ...place } = input;
  const untilMs = nowMs + settings.urlLifetimeMs;
  const claimed = await Promise.all(
    [...wanted].map(async ([oid, sizeBytes]) =>
      (await copies.claim({ ...place, oid, nowMs, untilMs })) ? [[oid, sizeBytes] as const] : [],
    ),
  );
  return new Map(claimed.flat());
}
