import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { sameDigest, sha256Hex } from '../../core/rules/hash.ts';
import { listPages, type SignedRequest } from '../../core/store/rules/store.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import { isExpired } from '../../frame/access/tokens.ts';
import { pathOf } from './assemble.ts';
import type { ChunksRequest } from './contract.ts';
import type { ChunkPorts } from './ports.ts';
import {
  type ChunkedUpload,
  chunkCountOf,
  chunkFolder,
  chunkKey,
  chunkOfKey,
  inState,
  isOpen,
  type Proof,
  provenRun,
  putsUntilMs,
  renewed,
  sizeOfChunk,
  type UploadPath,
} from './rules/upload.ts';

/** What a client of a chunked upload sees: being assembled is open, and an upload whose time is over has ended. */
type ShownState = Exclude<ChunkedUpload['state'], 'assembling'>;

function shownState(upload: ChunkedUpload, nowMs: number): ShownState {
  if (upload.state === 'assembling' || (upload.state === 'open' && isOpen(upload, nowMs))) return 'open';
  return upload.state === 'open' ? 'ended' : upload.state;
}

/**
 * The upload that a token is of.
 *
 * @returns undefined if there is none, as if the token is wrong or too old, or was got with one that has ended since.
 * @throws {LedgerUnavailableError}
 */
export async function findUpload(
  deps: Pick<CoreDeps, 'clock'> & Pick<AccessPorts, 'tokens'> & Pick<ChunkPorts, 'chunkedUploads'>,
  { token, ...path }: UploadPath & { token: string },
): Promise<ChunkedUpload | undefined> {
  const upload = await deps.chunkedUploads.read(path);
  const sha256 = sha256Hex(token);
  const nowMs = deps.clock.nowMs();
  const shown = upload?.tokens.find((each) => sameDigest(each.sha256, sha256) && nowMs < each.untilMs);
  if (shown === undefined) return undefined;
  if (shown.tokenId === undefined) return upload;
  const given = await deps.tokens.find(shown.tokenId);
  return given && !isExpired(given, deps.clock.nowMs()) ? upload : undefined;
}

/**
 * @returns `stored`: the chunks in the store, in their order; `unproven`: those of them without a proof; `proven`: how many from
 * the first one on have one, and SHA-256's state after them.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function progressOf(
  {
    chunkedUploads,
    listing,
    clock,
  }: Pick<CoreDeps, 'listing' | 'clock'> & Pick<ChunkPorts, 'chunkedUploads'>,
  upload: ChunkedUpload,
) {
  // Before the listing: what is replaced meanwhile is shown as not proven.
  const proofs = await chunkedUploads.proofs(upload);
  const etags = new Map<number, string>();
  for await (const page of listPages(listing, { prefix: chunkFolder(upload), readsEtags: true }))
    for (let index = 0; index < page.keyCount; index += 1) {
      const chunk = chunkOfKey(upload, page.keyAt(index));
      const isWhole = chunk !== undefined && page.sizeAt(index) === sizeOfChunk(upload, chunk);
      if (isWhole) etags.set(chunk, page.etagAt(index));
    }
  // Once it is assembled, its chunks go.
  const isProven = ({ chunk, etag }: Proof) =>
    upload.state !== 'open' || plainEtag(etags.get(chunk) ?? '') === plainEtag(etag);
  const valid = proofs.filter(isProven);
  const proven = new Set(valid.map(({ chunk }) => chunk));
  const stored = [...etags.keys()];
  return {
    state: shownState(upload, clock.nowMs()),
    stored,
    proven: provenRun(upload, valid),
    unproven: stored.filter((chunk) => !proven.has(chunk)),
  };
}

/** Stores differ in whether they quote them. */
const plainEtag = (etag: string) => etag.replaceAll('"', '');

/** `assemble` is queued again after this, for as long as clients ask. */
const assembleAgainMs = 30_000;
/** A time that is renewed by less isn't written. */
const renewAgainMs = 60_000;

type ServeOutcome =
  | {
      readonly kind: 'served';
      readonly state: ShownState;
      readonly urls: readonly {
        readonly chunk: number;
        readonly put: SignedRequest;
        readonly expiresInMs: number;
      }[];
      /** Chunks of the whole without a proof. */
      readonly unproven: number;
    }
  /** The object has no such chunk. */
  | { readonly kind: 'no-chunk'; readonly chunk: number };

type ServeDeps = Pick<CoreDeps, 'signer' | 'clock' | 'settings'> & ChunkPorts;

/**
 * Queues proofs of chunks that a client has stored, and signs URLs for others. Once all are proven, it queues the assembly,
 * so a client that asks again gets it done even if a message was lost.
 *
 * @throws {LedgerUnavailableError}
 */
export async function serveChunks(
  deps: ServeDeps,
  upload: ChunkedUpload,
  wishes: ChunksRequest,
): Promise<ServeOutcome> {
  const { stored, wanted } = wishes;
  const count = chunkCountOf(upload);
  const beyond = [...stored, ...wanted].find(({ chunk }) => chunk >= count);
  if (beyond) return { kind: 'no-chunk', chunk: beyond.chunk };
  const nowMs = deps.clock.nowMs();
  const path = pathOf(upload);
  const proofs = await deps.chunkedUploads.proofs(path);
  const unproven = count - new Set(proofs.map(({ chunk }) => chunk)).size;
  // Of what is removed, nothing must come back.
  const isFixable = isOpen(upload, nowMs);
  // What was asked for once can't be the same object as this.
  const isOther = isFixable && (await deps.chunkedUploads.fixSha256s(upload, wanted)) === 'other';
  const asked = { nowMs, isOther, isProven: unproven === 0, hasUrls: wanted.length > 0 };
  const changed = await deps.chunkedUploads.change(path, (before) => afterAsking(deps, before, asked));
  // What is removed meanwhile gets no URL: nobody would delete what arrives.
  const now = changed?.upload ?? inState(upload, 'ended', nowMs);
  const state = isOther && now.state === 'assembling' ? 'wrong' : shownState(now, nowMs);
  if (state !== 'open')
    return { kind: 'served', state, urls: [], unproven: state === 'stored' ? 0 : unproven };
  const messages = [
    ...stored.map(({ chunk, stateBefore }) => ({ step: 'prove' as const, ...path, chunk, stateBefore })),
    ...(changed?.isChanged && now.askedAtMs === nowMs ? [{ step: 'assemble' as const, ...path }] : []),
  ];
  if (messages.length > 0) await deps.chunkQueue.send(messages);
  const { urlLifetimeMs: lifetimeMs } = deps.settings;
  // One whose time is over is assembled to its end, and nobody waits for what else would arrive.
  const signed = isFixable && isOpen(now, nowMs) ? wanted : [];
  const urls = await mapLimited(signed, signedAtOnce, async ({ chunk, sha256 }) => {
    const sizeBytes = sizeOfChunk(upload, chunk);
    const target = { key: chunkKey(path, chunk), oid: sha256, sizeBytes };
    const put = await deps.signer.signUpload({ ...target, signedAtMs: nowMs, lifetimeMs });
    return { chunk, put, expiresInMs: nowMs + lifetimeMs - deps.clock.nowMs() };
  });
  return { kind: 'served', state, urls, unproven };
}

const signedAtOnce = 16;

/** @returns undefined if the upload stays as it is. */
function afterAsking(
  { settings }: Pick<CoreDeps, 'settings'>,
  before: ChunkedUpload,
  asked: { nowMs: number; isOther: boolean; isProven: boolean; hasUrls: boolean },
): ChunkedUpload | undefined {
  const { nowMs, isOther, isProven, hasUrls } = asked;
  if (!isOpen(before, nowMs)) return undefined;
  if (isOther) return before.state === 'open' ? inState(before, 'wrong', nowMs) : undefined;
  const putsMs = hasUrls ? putsUntilMs(settings, before, nowMs + settings.urlLifetimeMs) : 0;
  const isToAssemble = isProven && nowMs >= before.askedAtMs + assembleAgainMs;
  const next = {
    ...renewed(before, nowMs),
    putsUntilMs: Math.max(before.putsUntilMs, putsMs),
    askedAtMs: isToAssemble ? nowMs : before.askedAtMs,
  };
  const isSame =
    next.activeUntilMs < before.activeUntilMs + renewAgainMs &&
    next.putsUntilMs === before.putsUntilMs &&
    next.askedAtMs === before.askedAtMs;
  return isSame ? undefined : next;
}
