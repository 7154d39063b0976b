import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import {
  type Crowded,
  onePutEach,
  type Ticket,
  type UploadWay,
  type WayInput,
} from '../../core/ledger/rules/upload-way.ts';
import { forEachLimited, mapLimited } from '../../core/rules/async.ts';
import { objectKey } from '../../core/rules/names.ts';
import {
  ObjectExistsError,
  type UploadedPart,
  UploadGoneError,
} from '../../core/store/rules/archive-store.ts';
import { StoreRefusedError } from '../../core/store/rules/store.ts';
import type { UploadBody } from './contract.ts';
import type { PartPorts } from './ports.ts';
import {
  claimedForMs,
  isOpen,
  type PartUpload,
  type PartUploadPath,
  partBytesOf,
  partsOf,
  renewed,
} from './rules/part-upload.ts';

export type PartDeps = Pick<CoreDeps, 'ledger' | 'clock' | 'settings' | 'store'> & PartPorts;

const atOnce = 16;
const keyOf = ({ tenant, repo, name }: PartUploadPath) => objectKey({ tenant, repo, oid: name });
const multipartOf = (upload: PartUpload) => ({ key: keyOf(upload), uploadId: upload.multipartId });

/** Parts that are there as they must be. undefined: the store has no such upload any more. @throws {StoreUnavailableError} */
async function storedParts({ archives }: PartPorts, upload: PartUpload) {
  const wanted = partsOf(upload);
  const stored = new Map<number, UploadedPart>();
  try {
    for await (const page of archives.parts(multipartOf(upload)))
      for (const part of page) if (wanted.get(part.number) === part.sizeBytes) stored.set(part.number, part);
    return stored;
  } catch (error) {
    if (error instanceof UploadGoneError) return undefined;
    throw error;
  }
}

/** An upload, and the parts that it has. */
interface SentFile {
  readonly upload: PartUpload;
  readonly stored: ReadonlyMap<number, unknown>;
}

/** @returns its upload, renewed. `busy`: another one is in the way. undefined: none is. */
async function resumeOne(
  deps: PartDeps,
  { tenant, repo, madeBy = '' }: WayInput,
  of: { name: string; sizeBytes: number; lifetimeMs: number },
): Promise<SentFile | 'busy' | undefined> {
  const { partUploads, ledger, clock, settings } = deps;
  const { name, sizeBytes, lifetimeMs } = of;
  const nowMs = clock.nowMs();
  let isBusy = false;
  for (const found of await partUploads.of({ tenant, repo, name })) {
    const reservation = await ledger.readReservation({ tenant, repo, reservationId: found.upload });
    // Its batch is about to issue it, or has died before anybody got a URL.
    if (reservation?.state === 'pending') continue;
    if (!reservation && found.state === 'open') {
      await removeUpload(deps, found);
      continue;
    }
    isBusy = true;
    const isOwn = found.madeBy === madeBy && found.sizeBytes === sizeBytes;
    if (!isOwn || !reservation?.chunked?.has(name) || !isOpen(found, nowMs)) continue;
    const stored = await storedParts(deps, found);
    const upload = await partUploads.change(found, (now) =>
      isOpen(now, nowMs) ? renewed(now, settings, { nowMs, lifetimeMs }) : undefined,
    );
    if (stored && upload && isOpen(upload, nowMs)) return { upload, stored };
  }
  return isBusy ? 'busy' : undefined;
}

/** With what is sent of a request's files, by name. */
export type PartsWay = UploadWay & { readonly sent: ReadonlyMap<string, SentFile> };

/**
 * How the files of one request go that are uploaded in parts. Of a name, one upload goes on at a time, because none has a hash: what
 * another maker sends must not get between.
 */
export function partsWay(
  deps: PartDeps,
  { lifetimeMs, versions }: { lifetimeMs: number; versions?: ReadonlyMap<string, string | undefined> },
): PartsWay {
  const { partUploads, archives, settings } = deps;
  const sent = new Map<string, SentFile>();
  const inParts = ({ objects, chunked }: WayInput) => [...objects].filter(([name]) => chunked?.has(name));
  const ticketOf = ({ upload }: PartUpload) => ({ upload, token: '', expiresInMs: lifetimeMs });
  return {
    ...onePutEach,
    sent,
    claimedForMs,
    // As parts, and as the file.
    diskCopies: 2,
    async resume(input) {
      const outcomes = new Map<string, Ticket | Crowded>();
      await forEachLimited(inParts(input), atOnce, async ([name, sizeBytes]) => {
        const found = await resumeOne(deps, input, { name, sizeBytes, lifetimeMs });
        if (found === 'busy') outcomes.set(name, { kind: 'busy' });
        else if (found) {
          sent.set(name, found);
          outcomes.set(name, ticketOf(found.upload));
        }
      });
      return outcomes;
    },
    async begin(input) {
      const { tenant, repo, reservationId, madeBy = '', nowMs, storageClass } = input;
      let isFull = false;
      const tickets = await mapLimited(inParts(input), atOnce, async ([name, sizeBytes]) => {
        const path = { tenant, repo, name, upload: reservationId };
        const { uploadId: multipartId } = await archives.createUpload(keyOf(path), { storageClass });
        const begun = {
          ...path,
          multipartId,
          sizeBytes,
          partBytes: partBytesOf(settings, sizeBytes),
          madeBy,
          madeOf: versions?.get(name),
          state: 'open' as const,
          mayBeStored: false,
          createdAtMs: nowMs,
          putsUntilMs: 0,
          dueAtMs: 0,
        };
        const upload = renewed(begun, settings, { nowMs, lifetimeMs });
        // Without a record, nothing leads to it. It has no bytes yet.
        await partUploads.put(upload);
        // Each puts its own before it looks, so of two at once none goes on, or one.
        if ((await partUploads.of(path)).length > 1) isFull = true;
        sent.set(name, { upload, stored: new Map() });
        return [name, ticketOf(upload)] as const;
      });
      return { tickets: new Map(tickets), isFull };
    },
    remove: ({ tickets, ...place }) =>
      forEachLimited(tickets, atOnce, async ([name, { upload }]) => {
        const found = await partUploads.read({ ...place, name, upload });
        if (found) await removeUpload(deps, found);
      }),
  };
}

/** What a client gets of an upload: URLs of the parts that aren't there. */
export async function partsBody(
  { signer, clock }: Pick<CoreDeps, 'signer' | 'clock'>,
  { upload, stored }: SentFile,
  lifetimeMs: number,
): Promise<NonNullable<UploadBody['parts']>> {
  const signedAtMs = clock.nowMs();
  return mapLimited([...partsOf(upload)], atOnce, async ([number, bytes]) => {
    if (stored.has(number)) return { number, bytes, stored: true as const };
    const part = { uploadId: upload.multipartId, number };
    const { href, header } = await signer.signUpload({
      key: keyOf(upload),
      sizeBytes: bytes,
      part,
      signedAtMs,
      lifetimeMs,
    });
    return { number, bytes, url: href, headers: header };
  });
}

/**
 * Makes the parts of an upload the file, if it's open. May be repeated, and end anywhere in between.
 *
 * @returns `done`: whether the file is there, its name tells. `taken`: something else has the name. Or the numbers of parts
 * that are missing, or came again meanwhile.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function completeUpload(
  deps: PartDeps,
  path: PartUploadPath,
): Promise<'done' | 'taken' | readonly number[]> {
  const { partUploads, archives, ledger, store, clock } = deps;
  const nowMs = clock.nowMs();
  const found = await partUploads.read(path);
  if (!found || !isOpen(found, nowMs)) return 'done';
  const stored = await storedParts(deps, found);
  const missing = stored ? [...partsOf(found).keys()].filter((number) => !stored.has(number)) : [];
  if (missing.length > 0) return missing;
  if (stored) {
    const asked = await partUploads.change(found, (now) =>
      isOpen(now, nowMs) ? { ...now, mayBeStored: true } : undefined,
    );
    if (!asked || !isOpen(asked, nowMs)) return 'done';
    // Its space is kept still, so it's counted from the moment when it is there.
    const reservation = await ledger.readReservation({ ...path, reservationId: path.upload });
    if (!reservation?.chunked?.has(path.name)) {
      await endUpload(deps, path);
      return 'done';
    }
    const inOrder = [...stored.values()].sort((a, b) => a.number - b.number);
    try {
      const options = { ifAbsent: true, totalBytes: found.sizeBytes };
      await archives.complete(multipartOf(found), inOrder, options);
    } catch (error) {
      if (![ObjectExistsError, UploadGoneError, StoreRefusedError].some((kind) => error instanceof kind))
        throw error;
      const now = await storedParts(deps, found);
      if (error instanceof StoreRefusedError) {
        // A part that came again since they were listed has another ETag.
        const changed = inOrder.filter(({ number, etag }) => now?.get(number)?.etag !== etag);
        if (!now || changed.length === 0) throw error;
        return changed.map(({ number }) => number);
      }
      // An attempt whose answer was lost may have made it: only then the upload is gone.
      if (now !== undefined) {
        await endUpload(deps, path);
        return 'taken';
      }
    }
  }
  const file = await store.head(keyOf(path));
  const isStored = file?.sizeBytes === found.sizeBytes && file.mark === undefined;
  await endUpload(deps, path, isStored ? 'stored' : 'ended');
  return 'done';
}

/**
 * Ends an upload and its claim, which is free at once if the store was never asked to make it the file. Else it lapses, as that of
 * another PUT does. May be repeated, and end anywhere in between.
 *
 * @returns it as it is now. undefined: there's none.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function endUpload(
  { partUploads, archives, ledger, clock, settings, store }: PartDeps,
  path: PartUploadPath,
  state: 'stored' | 'ended' = 'ended',
): Promise<PartUpload | undefined> {
  let endsNow = false;
  const ended = await partUploads.change(path, (now) => {
    endsNow = now.state === 'open';
    return endsNow ? { ...now, state } : undefined;
  });
  if (!ended) return undefined;
  // It stops parts on their way, and whoever would still make it the file.
  await archives.abort(multipartOf(ended));
  if (endsNow) store.leaveSpace?.(keyOf(ended));
  const { tenant, repo, name: oid, upload: reservationId } = ended;
  const endedMs = clock.nowMs() + 2 * settings.clockSkewMs;
  await ledger.endChunked({ tenant, repo, reservationId, oid, isGone: isGone(ended), endedMs });
  return await partUploads.change(path, (now) => ({ ...now, dueAtMs: now.putsUntilMs }));
}

/** Whether nothing of it is stored, nor ever will be. */
export const isGone = ({ state, mayBeStored }: PartUpload) => state === 'ended' && !mayBeStored;

/** Ends it, and forgets it. */
export async function removeUpload(deps: PartDeps, path: PartUploadPath): Promise<void> {
  await endUpload(deps, path);
  await deps.partUploads.remove(path);
}

/**
 * Ends the uploads of a tenant whose time is over. One that has ended is aborted once more when no part can be on its way any more, as
 * S3 may have kept such a part, and then forgotten.
 *
 * @returns `unfinished`: the time was up first.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function tidyUploads(
  deps: PartDeps,
  { tenant, untilMs }: { tenant: string; untilMs: number },
): Promise<'done' | 'unfinished'> {
  const { partUploads, clock } = deps;
  const nowMs = clock.nowMs();
  for (const upload of await partUploads.of({ tenant })) {
    if (upload.dueAtMs > nowMs) continue;
    if (clock.nowMs() > untilMs) return 'unfinished';
    if (nowMs >= upload.putsUntilMs) await removeUpload(deps, upload);
    else await endUpload(deps, upload);
  }
  return 'done';
}
