import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { z } from 'zod';
import type { StoredObject } from '../../lambda/exports/rules/objects.ts';
import type { ApiClient } from '../api-client.ts';
import { CliError } from '../errors.ts';
import { printable } from '../terminal.ts';
import { TransferError, transferRest } from './transfer.ts';

/** Downloads objects as git-lfs does. */

/** Objects that are downloaded at a time. */
const objectsAtOnce = 8;
/** Objects of one batch, as git-lfs asks for them. */
const batchObjectsMax = 100;
/** A URL is not used in its last seconds. */
const marginMs = 10_000;
/** Of a URL that does not say how long it is valid. */
const lifetimeMsDefault = 60_000;
/** Attempts in a row that bring nothing. */
const attemptsMax = 6;
/** Pause before the second of them, doubled each time. */
const pauseMs = 500;

const mediaType = 'application/vnd.git-lfs+json';

const action = z.object({
  href: z.url(),
  header: z.record(z.string(), z.string()).optional(),
  expires_in: z.number().optional(),
});
const batchShape = z.object({
  objects: z.array(
    z.object({
      oid: z.string(),
      actions: z.object({ download: action.optional() }).optional(),
      error: z.object({ code: z.number(), message: z.string() }).optional(),
    }),
  ),
});
const errorShape = z.object({ message: z.string() });

/** Where an object is downloaded, or why it is not. */
type Offer =
  | {
      readonly kind: 'offered';
      readonly href: string;
      readonly header: Readonly<Record<string, string>>;
      readonly validUntilMs: number;
    }
  /** It is not stored any more. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused'; readonly message: string };

/** What became of an object. */
type Fetched =
  /** Its file has all its bytes. */
  | { readonly kind: 'complete'; readonly file: FileHandle }
  | { readonly kind: 'gone' }
  /** The store has it, but not with the bytes that its oid says, or does not give it. */
  | { readonly kind: 'broken'; readonly message: string };

type Attempt<T> =
  | { readonly kind: 'done'; readonly value: T }
  /** @property gotOn it brought something, so that the count of attempts begins anew. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly gotOn?: boolean };

interface BatchDeps {
  readonly client: ApiClient;
  /** Ends all attempts. */
  readonly stop: AbortSignal;
  readonly sleep: (durationMs: number) => Promise<void>;
  readonly nowMs: () => number;
}

/** What becomes of objects that are downloaded. */
interface Downloads {
  readonly tenant: string;
  readonly objects: readonly StoredObject[];
  /** Where the object lies that a worker is at, until it is complete. */
  readonly fileOf: (worker: number) => string;
  /** Called with bytes that were written; with fewer than none if they are of no use. */
  readonly onBytes: (bytes: number) => void;
  /** Called once for each object, and awaited. The file has its bytes alone. */
  readonly onFetched: (object: StoredObject, fetched: Fetched) => Promise<void>;
}

/**
 * Downloads objects, several at a time. One that is gone or broken does not hold up the others.
 *
 * @throws what a download failed with, once those beside it have ended.
 */
export async function downloadObjects(deps: BatchDeps, input: Downloads): Promise<void> {
  const failed = new AbortController();
  const stop = AbortSignal.any([deps.stop, failed.signal]);
  const offers = offersFor(deps, input);
  const work = async (worker: number) => {
    let file: FileHandle | undefined;
    try {
      for (;;) {
        stop.throwIfAborted();
        const next = await offers.next();
        if (next.done) return;
        const { object, offer } = next.value;
        file ??= await open(input.fileOf(worker), 'w+');
        const { tenant, onBytes } = input;
        const arriving = new Arriving({ ...deps, stop, onBytes, file }, { tenant, object });
        await input.onFetched(object, await arriving.fetch(offer));
      }
    } finally {
      await file?.close();
    }
  };
  const workers = Array.from({ length: objectsAtOnce }, (_, worker) =>
    work(worker).catch((error: unknown) => failed.abort(error)),
  );
  await Promise.all(workers);
  // The first one that failed is the cause; the others were stopped.
  deps.stop.throwIfAborted();
  failed.signal.throwIfAborted();
}

/** Asks for one batch after the other, repo by repo, when an object of it is wanted. */
async function* offersFor(
  deps: BatchDeps,
  { tenant, objects: all }: Pick<Downloads, 'tenant' | 'objects'>,
): AsyncGenerator<{ readonly object: StoredObject; readonly offer: Offer }> {
  const byRepo = new Map<string, StoredObject[]>();
  for (const object of all) {
    const others = byRepo.get(repoOf(object)) ?? [];
    others.push(object);
    byRepo.set(repoOf(object), others);
  }
  for (const [repo, listed] of byRepo)
    for (let at = 0; at < listed.length; at += batchObjectsMax) {
      const objects = listed.slice(at, at + batchObjectsMax);
      const offers = await askForDownloads(deps, { tenant, repo }, objects);
      for (const object of objects) yield { object, offer: offers.get(object.oid) ?? { kind: 'gone' } };
    }
}

/** The repo in an object's key, which is `tenant/repo/oid`. */
function repoOf({ key }: StoredObject): string {
  return key.split('/')[1] ?? '';
}

/** The disk did not take what arrived. */
export class DiskError extends Error {
  override readonly name = 'DiskError';
}

interface ArrivingDeps extends BatchDeps {
  readonly file: FileHandle;
  readonly onBytes: Downloads['onBytes'];
}

/** An object of which a part has arrived. */
class Arriving {
  readonly #deps: ArrivingDeps;
  readonly #input: { tenant: string; object: StoredObject };
  #hash: Hash = createHash('sha256');
  #bytes = 0;
  #wrongHashes = 0;

  constructor(deps: ArrivingDeps, input: { tenant: string; object: StoredObject }) {
    this.#deps = deps;
    this.#input = input;
  }

  /**
   * Downloads it, and checks its SHA-256. A transfer that breaks goes on where it was.
   *
   * @throws what the last attempt failed with, if the store does not answer. @throws {DiskError}
   */
  fetch(first: Offer): Promise<Fetched> {
    let offer: Offer | undefined = first;
    return retrying<Fetched>(this.#deps, async () => {
      const isValid = offer?.kind !== 'offered' || offer.validUntilMs > this.#deps.nowMs();
      const now: Offer = offer && isValid ? offer : await this.#askAgain();
      offer = undefined;
      if (now.kind === 'gone') return { kind: 'done', value: now };
      if (now.kind === 'refused') return { kind: 'done', value: { kind: 'broken', message: now.message } };
      return this.#attempt(now);
    });
  }

  async #askAgain(): Promise<Offer> {
    const { tenant, object } = this.#input;
    const offers = await askForDownloads(this.#deps, { tenant, repo: repoOf(object) }, [object]);
    return offers.get(object.oid) ?? { kind: 'gone' };
  }

  /** One request for what is missing. */
  async #attempt({ href, header }: Offer & { kind: 'offered' }): Promise<Attempt<Fetched>> {
    const { stop } = this.#deps;
    const { sizeBytes } = this.#input.object;
    const before = this.#bytes;
    try {
      const refused = await transferRest(
        { href, header, from: before, sizeBytes, stop },
        { restart: () => this.#restart(), append: (piece) => this.#append(piece) },
      );
      if (refused?.status === 404 && refused.text.includes('<Code>NoSuchKey</Code>'))
        return { kind: 'done', value: { kind: 'gone' } };
      // Its URL may have expired: the next one tells.
      if (refused) throw new TransferError(`The store answered ${refused.status}.`);
      if (this.#bytes < sizeBytes) throw new TransferError('The transfer broke off.');
    } catch (error) {
      stop.throwIfAborted();
      if (error instanceof DiskError) throw error;
      return { kind: 'failed', error: transferError(error), gotOn: this.#bytes > before };
    }
    return this.#judge();
  }

  async #append(piece: Uint8Array): Promise<void> {
    if (this.#bytes + piece.length > this.#input.object.sizeBytes) {
      this.#restart();
      throw new TransferError('The store sent more than the object has.');
    }
    this.#hash.update(piece);
    try {
      for (let done = 0; done < piece.length; )
        done += (await this.#deps.file.write(piece, done, piece.length - done, this.#bytes + done))
          .bytesWritten;
    } catch (cause) {
      throw new DiskError('What arrived could not be written.', { cause });
    }
    this.#bytes += piece.length;
    this.#deps.onBytes(piece.length);
  }

  #judge(): Attempt<Fetched> {
    if (this.#hash.digest('hex') === this.#input.object.oid)
      return { kind: 'done', value: { kind: 'complete', file: this.#deps.file } };
    this.#restart();
    const message = 'Its bytes have another SHA-256.';
    // Bytes may change on the way, but not each time.
    this.#wrongHashes += 1;
    return this.#wrongHashes === 1
      ? { kind: 'failed', error: new TransferError(message) }
      : { kind: 'done', value: { kind: 'broken', message } };
  }

  #restart(): void {
    this.#deps.onBytes(-this.#bytes);
    this.#bytes = 0;
    this.#hash = createHash('sha256');
  }
}

/** `fetch` keeps what happened in the cause of its own error. */
function transferError(error: unknown): TransferError {
  if (error instanceof TransferError) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return new TransferError(cause instanceof Error ? cause.message : String(cause), { cause: error });
}

/** Tries again what may succeed the next time. @throws what the last attempt failed with, or the reason of the stop. */
async function retrying<T>(
  { stop, sleep }: Pick<BatchDeps, 'stop' | 'sleep'>,
  attempt: () => Promise<Attempt<T>>,
): Promise<T> {
  for (let failures = 0; ; ) {
    stop.throwIfAborted();
    const outcome = await attempt();
    if (outcome.kind === 'done') return outcome.value;
    failures = outcome.gotOn === true ? 1 : failures + 1;
    stop.throwIfAborted();
    if (failures >= attemptsMax) throw outcome.error;
    await sleep(pauseMs * 2 ** (failures - 1));
  }
}

interface BatchPlace {
  readonly tenant: string;
  readonly repo: string;
}

/**
 * Asks where objects are downloaded. Tries again while the server does not answer, or asks to wait.
 *
 * @param objects at most {@link batchObjectsMax}. @returns oid → offer, one for each object.
 * @throws {CliError}
 */
async function askForDownloads(
  deps: BatchDeps,
  place: BatchPlace,
  objects: readonly { readonly oid: string; readonly sizeBytes: number }[],
): Promise<ReadonlyMap<string, Offer>> {
  const offers = await ask(deps, place, objects);
  if (offers !== 'absent') return offers;
  // A token that was changed meanwhile must not make an archive without objects: it is the repo alone that is gone.
  await checkMayDownload(deps, { tenant: place.tenant, repo: null });
  return new Map(objects.map(({ oid }) => [oid, { kind: 'gone' }]));
}

/**
 * Looks whether a token may download from a tenant, or from one of its repos.
 *
 * @throws {CliError} that says which token to use.
 */
export async function checkMayDownload(
  deps: BatchDeps,
  { tenant, repo }: { tenant: string; repo: string | null },
): Promise<void> {
  const nothing = { oid: '0'.repeat(64), sizeBytes: 0 };
  if ((await ask(deps, { tenant, repo: repo ?? 'any' }, [nothing])) !== 'absent') return;
  const what = repo === null ? `no tenant ${tenant}` : `no tenant ${tenant}, or no repo ${repo}`;
  throw new CliError(`There is ${what} for this token (404).`, {
    failure: 'not-found',
    hint:
      'It does not exist, is being deleted, or the token is one of another tenant. ' +
      `Give a token of ${tenant} with LFS_QUOTA_TOKEN or --token.`,
  });
}

/** @returns `absent` if the tenant or the repo is not there for the token. */
async function ask(
  deps: BatchDeps,
  place: BatchPlace,
  objects: readonly { readonly oid: string; readonly sizeBytes: number }[],
): Promise<ReadonlyMap<string, Offer> | 'absent'> {
  const askedAtMs = deps.nowMs();
  const { status, body } = await retrying(deps, async () => {
    const answer = await deps.client.exchange({
      method: 'POST',
      path: `/${place.tenant}/${place.repo}/info/lfs/objects/batch`,
      body: {
        operation: 'download',
        transfers: ['basic'],
        objects: objects.map(({ oid, sizeBytes: size }) => ({ oid, size })),
      },
      mediaType,
    });
    const isForNow = answer.status === 429 || answer.status >= 500;
    return isForNow ? { kind: 'failed', error: refusal(place, answer) } : { kind: 'done', value: answer };
  });
  if (status === 404 && errorShape.safeParse(body).success) return 'absent';
  const parsed = batchShape.safeParse(body);
  if (status !== 200 || !parsed.success) throw refusal(place, { status, body });
  const answers = new Map(parsed.data.objects.map((object) => [object.oid, object]));
  return new Map(objects.map(({ oid }) => [oid, offerOf(answers.get(oid), askedAtMs)]));
}

function offerOf(
  answer: z.output<typeof batchShape>['objects'][number] | undefined,
  askedAtMs: number,
): Offer {
  const download = answer?.actions?.download;
  if (download) {
    const { href, header = {}, expires_in } = download;
    const lifetimeMs = expires_in === undefined ? lifetimeMsDefault : expires_in * 1000;
    return { kind: 'offered', href, header, validUntilMs: askedAtMs + lifetimeMs - marginMs };
  }
  if (answer?.error?.code === 404) return { kind: 'gone' };
  return { kind: 'refused', message: printable(answer?.error?.message ?? 'The server offered no download.') };
}

function refusal({ tenant }: BatchPlace, { status, body }: { status: number; body: unknown }): CliError {
  if (status === 401 || status === 403)
    return new CliError(`The token was rejected for downloads (${status}).`, {
      failure: 'unauthorized',
      hint:
        'Set LFS_QUOTA_TOKEN (or --token) to a token of the tenant: the admin token downloads nothing. ' +
        `Make one with \`lfs-quota token create ${tenant} --scope read\`.`,
    });
  const parsed = errorShape.safeParse(body);
  const why = parsed.success ? `: ${printable(parsed.data.message)}` : '.';
  const isForNow = status >= 500 || status === 429;
  return new CliError(`The LFS API answered ${status}${why}`, {
    failure: isForNow ? 'unavailable' : 'failed',
    hint: isForNow ? 'Try again in a moment.' : 'Check --url or LFS_QUOTA_URL.',
  });
}
