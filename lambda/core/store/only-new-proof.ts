import type { Clock, Ids } from '../rules/clock-and-log.ts';
import { sha256Hex } from '../rules/hash.ts';
import { isNetworkError, isTransient } from './bucket-client.ts';
import { HttpExchange } from './http-exchange.ts';
import type { OnlyNewProof } from './rules/file-ports.ts';
import { ownFolders } from './rules/own-folders.ts';
import {
  type ObjectListing,
  type ObjectStore,
  pageKeysMax,
  type SignedRequest,
  StoreUnavailableError,
  type UrlSigner,
} from './rules/store.ts';

/**
 * Sends a PUT by a signed URL. The second half of its body follows once `between` has settled.
 *
 * @param body in ASCII. @returns the status. @throws {StoreUnavailableError} without an answer, or with one that says: later.
 */
export type SendInHalves = (
  signed: SignedRequest,
  body: string,
  between?: () => Promise<unknown>,
) => Promise<number>;

interface ProofDeps {
  readonly signer: Pick<UrlSigner, 'signUpload'>;
  readonly store: Pick<ObjectStore, 'head' | 'delete' | 'putEmpty'>;
  readonly listing: Pick<ObjectListing, 'listPage'>;
  /** Default: the network. */
  readonly sendInHalves?: SendInHalves;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** More than what a store, or a proxy before it, keeps of a body until all of it is there. */
const body = 'x'.repeat(1024 ** 2);
/** How long a store may take to begin with a PUT of which it has the first half. */
const beginMs = 1_000;
/** For all of a request. */
const answerMs = 30_000;
/** For an empty object, which doesn't wait until an upload of the same name ends. */
const emptyMs = 10_000;
/** No proof takes as long: what an older one left is nobody's. */
const leftAfterMs = 10 * 60_000;

/**
 * Tries it: 2 s and 10 requests or so. It removes what it put. If it dies before, the next one does.
 *
 * @param options.below where it puts its two objects, and nobody else puts anything. Ends with a slash.
 * @throws {StoreUnavailableError} @throws {StoreRefusedError} of a request that every store must serve.
 */
export async function proveOnlyNew(
  { signer, store, listing, clock, ids, sendInHalves: send = overNetwork }: ProofDeps,
  { below = `${ownFolders.proofs}/` } = {},
): Promise<OnlyNewProof> {
  const nowMs = clock.nowMs();
  const soon = () => ({ deadlineMs: clock.nowMs() + answerMs });
  const page = await listing.listPage({ prefix: below, maxKeys: pageKeysMax, readsTimes: true });
  const left = Array.from({ length: page.keyCount }, (_, at) => at).filter(
    (at) => (page.lastModifiedMsAt(at) ?? 0) < nowMs - leftAfterMs,
  );
  const run = ids.random(16);
  const [twice, slow] = [`${below}${run}-twice`, `${below}${run}-slow`];
  const sign = (key: string, oid?: string) =>
    signer.signUpload({
      key,
      oid,
      sizeBytes: body.length,
      signedAtMs: clock.nowMs(),
      lifetimeMs: leftAfterMs / 2,
      onlyNew: true,
      contentType: 'text/plain',
    });
  let emptied: Promise<unknown> = Promise.resolve();
  const putEmpty = (withinMs: number) =>
    store.putEmpty(slow, { mark: run, onlyNew: true, deadlineMs: clock.nowMs() + withinMs });
  const makeEmpty = () => {
    emptied = clock.sleep(beginMs).then(() => putEmpty(emptyMs));
    return emptied.catch(() => undefined);
  };
  try {
    const first = await sign(twice, sha256Hex(body));
    const statuses = [await send(first, body), await send(first, body)] as const;
    if (!isAccepted(statuses[0])) return { kind: 'rejects', status: statuses[0] };
    if (isAccepted(statuses[1])) return { kind: 'replaces', status: statuses[1] };
    const status = await send(await sign(slow), body, makeEmpty);
    const waits = await emptied.then(
      () => false,
      // It isn't the upload that it waited for if it fails still.
      () => putEmpty(answerMs).then(() => true),
    );
    if (waits) return { kind: 'waits' };
    // As it is counted.
    const { keyCount, totalBytes } = await listing.listPage({ prefix: slow });
    if (keyCount !== 1 || totalBytes !== 0 || isAccepted(status)) return { kind: 'replaces-late', status };
    // As a delete puts it in the place of a file.
    await store.putEmpty(twice, { mark: run, onlyNew: false, ...soon() });
    const heads = await Promise.all([store.head(slow), store.head(twice)]);
    return { kind: heads.every((head) => head?.mark === run) ? 'holds' : 'unmarked' };
  } finally {
    // Of a PUT that is answered early it may still be on its way.
    await emptied.catch(() => undefined);
    const keys = [twice, slow, ...left.map((at) => page.keyAt(at))];
    await store.delete(keys, soon()).catch(() => undefined);
  }
}

/** Tries it until it holds, at most once at a time. */
export function onlyNewProver(deps: ProofDeps): () => Promise<OnlyNewProof> {
  let trying: Promise<OnlyNewProof> | undefined;
  return async () => {
    trying ??= proveOnlyNew(deps);
    let proof: OnlyNewProof | undefined;
    try {
      proof = await trying;
      return proof;
    } finally {
      if (proof?.kind !== 'holds') trying = undefined;
    }
  };
}

const isAccepted = (status: number) => status >= 200 && status < 300;

const overNetwork: SendInHalves = (signed, text, between) => sendInHalves(signed, text, { between });

/** The network. @param options.signal ends it, with its reason. @throws {StoreUnavailableError} */
export async function sendInHalves(
  { href, header }: SignedRequest,
  body: string,
  options: { between?: (() => Promise<unknown>) | undefined; signal?: AbortSignal } = {},
): Promise<number> {
  const { between, signal } = options;
  const exchange = new HttpExchange({ socketsMax: 1 });
  const { origin, host } = new URL(href);
  try {
    const status = await exchange.send({
      request: {
        method: 'PUT',
        origin,
        // As it was signed, because a URL object would resolve its dots.
        path: href.slice(origin.length),
        headers: { ...header, host },
        body,
        between,
      },
      limits: { connectMs: answerMs, answerMs },
      readerOf: ({ status }) => ({ write: () => {}, end: () => status }),
      stop: signal,
    });
    if (isTransient(status)) throw new StoreUnavailableError(`The store answered a PUT with ${status}.`);
    return status;
  } catch (error) {
    if (!(error instanceof Error && isNetworkError(error))) throw error;
    throw new StoreUnavailableError(`The store did not serve PUT (${error.name}).`, { cause: error });
  } finally {
    exchange.destroy();
  }
}
