import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { forEachLimited } from '../../core/rules/async.ts';
import { Lease, LeaseLostError } from '../../core/rules/lease.ts';
import { objectKey } from '../../core/rules/names.ts';
import {
  type MultipartUpload,
  NoPartCopyError,
  ObjectExistsError,
  SourceGoneError,
  type UploadedPart,
  UploadGoneError,
} from '../../core/store/rules/archive-store.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import type { ChunkPorts } from './ports.ts';
import {
  type ChunkedUpload,
  checkChain,
  chunkCountOf,
  chunkFolder,
  chunkKey,
  inState,
  isTimely,
  type Proof,
  type UploadPath,
  type UploadState,
  withLease,
} from './rules/upload.ts';

export type AssembleDeps = Pick<CoreDeps, 'ledger' | 'queue' | 'clock' | 'settings' | 'storageClasses'> &
  ChunkPorts &
  Pick<FilePorts, 'archives'>;

const copiesAtOnce = 64;

type Attempt =
  | 'stored'
  /** A chunk has no proof, or not the one that it had. The client sees that. */
  | 'unproven'
  /** The time was over. Another message goes on. */
  | 'unfinished'
  /** The bytes are not the oid's. */
  | 'wrong'
  /** The reservation is gone, or something else is at the key. */
  | 'ended';

const stateAfter: Readonly<Record<Attempt, UploadState>> = {
  stored: 'stored',
  unproven: 'open',
  unfinished: 'open',
  wrong: 'wrong',
  ended: 'ended',
};

type AssembleOutcome =
  | Attempt
  /** Another worker is at it. If it has died, another goes on in a minute or two: client and schedule ask again. */
  | 'busy'
  /** There is no such upload, or it has ended. */
  | 'unwanted';

/**
 * Makes the object of an upload whose chunks are all proven. It may be asked for twice, also at the same time.
 *
 * @param input.deadlineMs no copy begins afterwards.
 * @throws {StoreUnavailableError} @throws {LedgerUnavailableError} The object is to be made again.
 */
export async function assembleUpload(
  deps: AssembleDeps,
  { path, deadlineMs }: { path: UploadPath; deadlineMs: number },
): Promise<AssembleOutcome> {
  const nowMs = deps.clock.nowMs();
  const taken = await deps.chunkedUploads.change(path, (upload) =>
    isFree(upload, nowMs) ? withLease(inState(upload, 'assembling', nowMs), nowMs) : undefined,
  );
  // Whoever made it may have died before this.
  if (taken?.upload.state === 'stored') return await finish(deps, path);
  if (!taken?.isChanged) return taken?.upload.state === 'assembling' ? 'busy' : 'unwanted';
  const { upload } = taken;
  const { chunkedUploads, clock } = deps;
  const change = (changeOf: (own: ChunkedUpload) => ChunkedUpload | undefined) =>
    chunkedUploads.change(path, changeOf);
  const lease = new Lease({ clock, change, leased: withLease }, upload);
  try {
    const outcome = await attempt(deps, { upload, lease, deadlineMs });
    await lease.end((own) => inState(own, stateAfter[outcome], clock.nowMs()));
    if (outcome === 'unfinished') await deps.chunkQueue.send([{ step: 'assemble', ...pathOf(path) }]);
    return outcome === 'stored' ? await finish(deps, path) : outcome;
  } catch (error) {
    if (error instanceof LeaseLostError) return 'busy';
    // The message comes again soon, and then nobody is to be waited for.
    await lease.change((own) => inState(own, 'open', clock.nowMs())).catch(() => undefined);
    throw error;
  }
}

/** Whether no worker is at it, or one that has died. */
function isFree({ state, leaseUntilMs }: ChunkedUpload, nowMs: number): boolean {
  return state === 'open' || (state === 'assembling' && nowMs >= leaseUntilMs);
}

/** What is left to do once the object is there. May be repeated. */
async function finish(deps: AssembleDeps, path: UploadPath): Promise<'stored'> {
  const upload = await deps.chunkedUploads.read(path);
  // What else arrives until no chunk can any more goes with its record.
  if (upload) await endClaim(deps, upload);
  return 'stored';
}

/**
 * Ends the claim of an upload that is over: it lapses as any other does, and no sooner than the last chunk can arrive, so that
 * the client's verify is answered. What is stored of it beside the object is deleted before.
 */
export async function endClaim(deps: AssembleDeps, upload: ChunkedUpload): Promise<void> {
  const { archives, ledger, queue, clock, settings } = deps;
  const { tenant, repo, oid, multipart } = upload;
  const key = objectKey(upload);
  // A worker that was frozen can complete nothing afterwards.
  if (multipart) await archives.abort({ key, uploadId: multipart.id });
  for await (const keys of archives.list(chunkFolder(upload))) await archives.delete(keys);
  const isStored = upload.state === 'stored' || (await archives.head(key)) !== undefined;
  const isGone = !isStored && (multipart?.isAhead ?? multipart === null);
  const endedMs = Math.max(clock.nowMs() + 2 * settings.clockSkewMs, upload.putsUntilMs);
  await ledger.endChunked({ tenant, repo, reservationId: upload.upload, oid, isGone, endedMs });
  // Up to then its claim is in the confirmed usage. And an attempt whose answer was lost may have made the object.
  await queue.request({ tenant, reason: 'upload', full: false });
}

async function attempt(
  deps: AssembleDeps,
  { upload, lease, deadlineMs }: Held & { deadlineMs: number },
): Promise<Attempt> {
  const proofs = await deps.chunkedUploads.proofs(upload);
  const chain = checkChain(upload, proofs);
  if (chain !== 'whole') return chain === 'missing' ? 'unproven' : 'wrong';
  if (!(await isClaimed(deps, upload))) return 'ended';
  const before = await lookUp(deps, upload);
  if (before !== 'none') return before;
  const { multipart, parts } = await beginOrResume(deps, { upload, lease });
  const isCopied = await copyChunks(deps, { upload, lease, multipart, proofs, parts, deadlineMs });
  if (!isCopied) return 'unproven';
  if (parts.size < chunkCountOf(upload)) return 'unfinished';
  await lease.extend(completeMs(upload));
  if (!(await isClaimed(deps, upload))) return 'ended';
  return await complete(deps, { upload, multipart, parts });
}

/** A store on a disk copies all bytes once more, and others would do the same meanwhile. No function lives longer than 15 min. */
const completeMs = ({ sizeBytes }: ChunkedUpload) => Math.min(sizeBytes / 50_000, 15 * 60_000);

/** Whether the object's place is reserved still, so that it is counted from the moment when it is there. */
async function isClaimed({ ledger, clock }: AssembleDeps, upload: ChunkedUpload): Promise<boolean> {
  const { tenant, repo, oid, sizeBytes } = upload;
  const found = await ledger.readReservation({ tenant, repo, reservationId: upload.upload });
  if (found?.state !== 'issued' || found.entries.get(oid) !== sizeBytes) return false;
  return clock.nowMs() < found.expiresAtMs;
}

/** What is at the object's key. Nothing there is ever replaced. */
async function lookUp(
  { archives }: AssembleDeps,
  upload: ChunkedUpload,
): Promise<'stored' | 'ended' | 'none'> {
  const found = await archives.head(objectKey(upload));
  if (!found) return 'none';
  return found.sizeBytes === upload.sizeBytes ? 'stored' : 'ended';
}

interface Held {
  readonly upload: ChunkedUpload;
  /** To assemble it. A worker that has lost it stops. Until it notices, two do the same: see {@link Making}. */
  readonly lease: Lease<ChunkedUpload>;
}

interface Making {
  readonly multipart: MultipartUpload;
  /** By number. All PUTs of a chunk have the same bytes (`fixSha256s`), so whoever copied one, its part has the right ones. */
  readonly parts: Map<number, Pick<UploadedPart, 'number' | 'etag'>>;
}

/** The multipart upload of the object's key: the one of an earlier attempt or of the proofs, or a new one. */
async function beginOrResume(deps: AssembleDeps, { upload, lease }: Held): Promise<Making> {
  const { archives, clock, settings } = deps;
  const key = objectKey(upload);
  const parts: Making['parts'] = new Map();
  const record = (multipart: ChunkedUpload['multipart']) => lease.change((own) => ({ ...own, multipart }));
  if (upload.multipart) {
    const { id: uploadId, beganAtMs, isAhead } = upload.multipart;
    if (isTimely(settings, upload, clock.nowMs())) {
      if (isAhead) await record({ id: uploadId, beganAtMs });
      const multipart = { key, uploadId };
      try {
        for await (const page of archives.parts(multipart))
          for (const part of page) parts.set(part.number, part);
        return { multipart, parts };
      } catch (error) {
        if (!(error instanceof UploadGoneError)) throw error;
        parts.clear();
      }
    }
    await archives.abort({ key, uploadId });
  }
  return { multipart: await beginMultipart(deps, upload, record), parts };
}

/**
 * Begins the multipart upload of the object's key.
 *
 * @param record writes it down before it has any bytes: if this function dies, the upload's record leads to it.
 * @throws what `record` throws. The multipart upload is gone then.
 */
export async function beginMultipart(
  {
    archives,
    clock,
    storageClasses,
  }: Pick<CoreDeps, 'clock' | 'storageClasses'> & Pick<FilePorts, 'archives'>,
  upload: ChunkedUpload,
  record: (multipart: { id: string; beganAtMs: number }) => Promise<unknown>,
): Promise<MultipartUpload> {
  const beganAtMs = clock.nowMs();
  // The operator may have removed it since: then the object gets the store's default.
  const storageClass = storageClasses.find((each) => each === upload.storageClass);
  const multipart = await archives.createUpload(objectKey(upload), { storageClass });
  try {
    await record({ id: multipart.uploadId, beganAtMs });
  } catch (error) {
    await archives.abort(multipart);
    throw error;
  }
  return multipart;
}

/** Copies the chunks that are no parts yet, until the time is over. @returns false: one is not as it was proven. */
async function copyChunks(
  { archives, chunkedUploads, clock }: AssembleDeps,
  input: Making & Held & { proofs: readonly Proof[]; deadlineMs: number },
): Promise<boolean> {
  const { upload, lease, multipart, proofs, parts, deadlineMs } = input;
  let areAsProven = true;
  type Part = Parameters<typeof archives.copyPart>[1];
  const make = (atOnce: number, partOf: (part: Part) => Promise<UploadedPart>) =>
    forEachLimited(proofs, atOnce, async (proof) => {
      const { chunk, etag, sizeBytes } = proof;
      const number = chunk + 1;
      if (parts.has(number)) return;
      await lease.renew();
      if (!areAsProven || clock.nowMs() >= deadlineMs) return;
      try {
        const source = { key: chunkKey(upload, chunk), etag };
        parts.set(number, await partOf({ number, source, sizeBytes }));
      } catch (error) {
        if (!(error instanceof SourceGoneError)) throw error;
        areAsProven = false;
        await chunkedUploads.deleteProof(upload, proof);
      }
    });
  try {
    await make(copiesAtOnce, (part) => archives.copyPart(multipart, part));
  } catch (error) {
    if (!(error instanceof NoPartCopyError)) throw error;
    // One at a time, as each is in memory.
    await make(1, async ({ number, source, sizeBytes }) => {
      const bytes = new Uint8Array(sizeBytes);
      await archives.readInto(source, { startByte: 0, endByte: sizeBytes }, bytes);
      return archives.uploadPart(multipart, { number, bytes });
    });
  }
  return areAsProven;
}

/** Makes the parts the object, unless there is one. */
async function complete(
  deps: AssembleDeps,
  { upload, multipart, parts }: Making & { upload: ChunkedUpload },
): Promise<'stored' | 'ended'> {
  const inOrder = [...parts.values()].sort((a, b) => a.number - b.number);
  try {
    await deps.archives.complete(multipart, inOrder, { ifAbsent: true, totalBytes: upload.sizeBytes });
    return 'stored';
  } catch (error) {
    if (!(error instanceof ObjectExistsError || error instanceof UploadGoneError)) throw error;
    // Somebody else made it, or an earlier attempt whose answer was lost.
    await deps.archives.abort(multipart);
    const found = await lookUp(deps, upload);
    if (found === 'none') throw error;
    return found;
  }
}

/** Without what a message or a record has beside it. */
export const pathOf = ({ tenant, repo, oid, upload }: UploadPath): UploadPath => ({
  tenant,
  repo,
  oid,
  upload,
});
