import * as z from 'zod';
import { admitUpload } from '../../core/ledger/admit-upload.ts';
import { makerOf } from '../../core/ledger/rules/reservation.ts';
import type { RepoRecord, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import type { AdmitUploadDeps, UploadVerdict } from '../../core/ledger/upload-batch.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { objectKey } from '../../core/rules/names.ts';
import { parseJson } from '../../core/rules/text.ts';
import { headsAtOnce } from '../../frame/access/files.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import { claimRequest } from '../../frame/access/request-keys.ts';
import { lastingTokenId, type TokenRecord, userOf } from '../../frame/access/rules/tokens.ts';
import { iso } from '../../frame/contract/fields.ts';
import type { UploadBody, UploadsBody, UploadsRequest } from './contract.ts';
import { type PartDeps, type PartsWay, partsBody, partsWay } from './parts.ts';
import { isInParts } from './rules/part-upload.ts';

export type UploadDeps = Omit<AdmitUploadDeps, 'way'> & PartDeps & Pick<AccessPorts, 'requestKeys'>;

interface Asked {
  readonly tenant: TenantRecord;
  readonly record: RepoRecord;
  /** undefined: the operator asks. */
  readonly token: TokenRecord | undefined;
  /** Each name once. */
  readonly files: UploadsRequest['files'];
  /** Of the URLs. No longer than the settings have it. */
  readonly lifetimeMs: number;
}

type UploadsOutcome =
  | { readonly kind: 'answered'; readonly body: UploadsBody }
  | { readonly kind: 'retry'; readonly retryAfterMs: number }
  /** The tenant is being deleted. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'key-reused' };

/**
 * Admits files as a push is admitted, and says of each what to do.
 *
 * @param requestKey whoever repeats it gets the answer that was given first, with the same times, bytes and names in its URLs.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function requestUploads(
  deps: UploadDeps,
  asked: Asked,
  requestKey: string | undefined,
): Promise<UploadsOutcome> {
  if (requestKey === undefined) return admitFiles(deps, asked);
  const { tenant, record, token, files, lifetimeMs } = asked;
  const purpose = `uploads ${tenant.tenant}/${record.repo} ${token?.tokenId ?? ''}`;
  const claim = await claimRequest(deps, { purpose, requestKey, body: { files, lifetimeMs } });
  if (claim.kind === 'key-reused') return claim;
  const { id, answer } = claim.record;
  if (answer !== undefined) return signedAgain(deps, asked, answer);
  const outcome = await admitFiles(deps, asked);
  if (outcome.kind !== 'answered') return outcome;
  // Of two requests at once, both get what one of them was given. What the other one reserved is of the same files: it counts
  // twice until the next reconcile.
  const own = await keptOf(deps, asked, outcome.body);
  const kept = own === undefined ? undefined : await deps.requestKeys.keepAnswer({ id, answer: own });
  return kept === undefined || kept === own ? outcome : signedAgain(deps, asked, kept);
}

async function admitFiles(deps: UploadDeps, asked: Asked): Promise<UploadsOutcome> {
  const { tenant, record, token, files, lifetimeMs } = asked;
  const { repo, storageClass = tenant.storageClass } = record;
  const way = partsWay(deps, {
    lifetimeMs,
    versions: new Map(files.map(({ name, version }) => [name, version])),
  });
  const chunked = new Set(files.filter((file) => isInParts(deps.settings, file)).map(({ name }) => name));
  // Its URLs work for as long, from a moment later on.
  const expiresAt = iso(deps.clock.nowMs() + lifetimeMs);
  const outcome = await admitUpload(
    { ...deps, way, settings: { ...deps.settings, urlLifetimeMs: lifetimeMs } },
    {
      tenant,
      repo,
      repoObjects: record.epoch > 0 ? record.objectCount : undefined,
      storageClass,
      user: token ? userOf(token) : null,
      ...(token && { madeBy: makerOf(token), tokenId: lastingTokenId(token) }),
      objects: new Map(files.map(({ name, bytes }) => [name, bytes])),
      ...(chunked.size > 0 && { chunked }),
      files: new Map(files.map(({ name, sha256, contentType }) => [name, { oid: sha256, contentType }])),
    },
  );
  if (outcome.kind !== 'answered') return outcome;
  const uploads = await mapLimited(files, headsAtOnce, async (file) => {
    const verdict = outcome.verdicts.get(file.name);
    if (!verdict) throw new Error('A file got no verdict.');
    return { name: file.name, ...(await said(deps, { asked, file, verdict, expiresAt, sent: way.sent })) };
  });
  return { kind: 'answered', body: bodyOf(uploads, outcome.reservationId) };
}

const bodyOf = (uploads: UploadBody[], uploadId: string | null = null): UploadsBody => ({
  uploads,
  uploadId,
  allUpload: uploads.every(({ state }) => state === 'upload'),
});

type File = UploadsRequest['files'][number];

async function said(
  deps: Pick<UploadDeps, 'store' | 'signer' | 'clock' | 'partUploads'>,
  input: { asked: Asked; file: File; verdict: UploadVerdict; expiresAt: string; sent: PartsWay['sent'] },
): Promise<Omit<UploadBody, 'name'>> {
  const { asked, file, verdict, expiresAt, sent } = input;
  switch (verdict.kind) {
    case 'upload':
      return { state: 'upload', url: verdict.put.href, headers: verdict.put.header, expiresAt };
    case 'stored':
      return (await isSame(deps, asked, file))
        ? { state: 'stored' }
        : { state: 'name-taken', storedBytes: file.bytes };
    case 'size-conflict':
      return { state: 'name-taken', storedBytes: verdict.storedBytes };
    case 'over-limit': {
      const { repo, storedBytes, reservedBytes, limitBytes, missingBytes, reservedUntilMs } = verdict.refusal;
      return {
        state: 'over-limit',
        limit: repo === null ? 'tenant' : 'repo',
        usedBytes: storedBytes + reservedBytes,
        reservedBytes,
        limitBytes,
        shortBytes: missingBytes,
        reservedUntil: reservedUntilMs === null ? null : iso(reservedUntilMs),
      };
    }
    case 'no-space':
      return { state: 'no-space', freeBytes: verdict.freeBytes };
    case 'chunks': {
      const found = sent.get(file.name);
      if (!found) throw new Error('A file in parts has no upload.');
      return {
        state: 'upload',
        uploadId: verdict.upload,
        startedAt: iso(found.upload.createdAtMs),
        version: found.upload.madeOf,
        parts: await partsBody(deps, found, asked.lifetimeMs),
        expiresAt,
      };
    }
    case 'busy':
      return { state: 'name-taken' };
  }
}

/**
 * A name and a size say nothing of the bytes: only a SHA-256 that the store has verified does, and for some hours that its maker has
 * sent this version in parts.
 */
async function isSame(
  { store, partUploads }: Pick<UploadDeps, 'store' | 'partUploads'>,
  { tenant: { tenant }, record: { repo }, token }: Asked,
  { name, bytes, sha256, version }: File,
) {
  const madeBy = token ? makerOf(token) : '';
  const sent = version === undefined ? [] : await partUploads.of({ tenant, repo, name });
  const isSent = sent.some(
    (each) =>
      each.state === 'stored' &&
      each.sizeBytes === bytes &&
      each.madeBy === madeBy &&
      each.madeOf === version,
  );
  if (isSent) return true;
  if (sha256 === undefined) return false;
  const found = await store.head(objectKey({ tenant, repo, oid: name }));
  return found?.sha256 === sha256 && found.mark === undefined;
}

/** What is kept of an answer: URLs are signed again. */
const keptAnswer = z.object({
  uploadId: z.string().nullable(),
  signedAtMs: z.number(),
  storageClass: z.string().optional(),
  uploads: z.array(z.looseObject({ state: z.string() })),
});

/** @returns undefined: its uploads are over already, so it isn't repeated. */
async function keptOf(
  { ledger, storageClasses }: Pick<UploadDeps, 'ledger' | 'storageClasses'>,
  { tenant, record }: Asked,
  { uploadId, uploads }: UploadsBody,
): Promise<string | undefined> {
  const key = { tenant: tenant.tenant, repo: record.repo, reservationId: uploadId ?? '' };
  const reservation = uploadId === null ? undefined : await ledger.readReservation(key);
  if (uploadId !== null && !reservation) return undefined;
  const { storageClass = tenant.storageClass } = record;
  return JSON.stringify({
    uploadId,
    signedAtMs: reservation?.createdAtMs ?? 0,
    storageClass: storageClasses.find((each) => each === storageClass),
    // In the order of the request, which repeats the names.
    uploads: uploads.map(({ name: _name, url: _url, headers: _headers, parts: _parts, ...rest }) => rest),
  });
}

async function signedAgain(deps: UploadDeps, asked: Asked, answer: string): Promise<UploadsOutcome> {
  const { tenant, record, files, lifetimeMs } = asked;
  const { repo } = record;
  const { uploadId, signedAtMs, storageClass, uploads } = keptAnswer.parse(parseJson(answer));
  // Those in parts go on from where they are.
  const inParts = files.filter((_, index) => uploads[index]?.['uploadId'] !== undefined);
  const again = inParts.length > 0 ? await admitFiles(deps, { ...asked, files: inParts }) : undefined;
  if (again && again.kind !== 'answered') return again;
  const all = files.map(async ({ name, bytes, sha256, contentType }, index) => {
    const upload = { name, ...uploads[index] } as UploadBody;
    if (upload.uploadId !== undefined)
      return again?.body.uploads.find((each) => each.name === name) ?? upload;
    if (upload.state !== 'upload') return upload;
    const { href, header } = await deps.signer.signUpload({
      key: objectKey({ tenant: tenant.tenant, repo, oid: name }),
      oid: sha256,
      contentType,
      onlyNew: true,
      sizeBytes: bytes,
      storageClass,
      signedAtMs,
      lifetimeMs,
    });
    return { ...upload, url: href, headers: header };
  });
  return { kind: 'answered', body: bodyOf(await Promise.all(all), uploadId) };
}
