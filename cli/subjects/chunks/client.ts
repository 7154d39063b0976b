import type * as z from 'zod';
import { parseJson } from '../../../lambda/core/rules/text.ts';
import {
  type ChunksRequest,
  lfsChunksContract,
  type WireChunkedUpload,
  type WireChunks,
} from '../../../lambda/subjects/chunks/contract.ts';
import { type BatchAction, mediaType } from '../../lfs-batch.ts';
import { RefusedError, requestByHand, sendAgain } from '../../move/put.ts';
import { type DownloadDeps, TransferError } from '../../transfer.ts';
import { UploadError } from './pushed-file.ts';

/** What the server says of one object that is uploaded in chunks, and is told. */

/** The gateway ends a request after 30 s. */
const requestMs = 35_000;
/** Of each kind in a request. */
const chunksMax = 100;

const path = '/{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}';
const statusShape = lfsChunksContract[`GET ${path}`].answers[200].schema;
const postedShape = lfsChunksContract[`POST ${path}`].answers[200].schema;

interface Asked {
  /** A chunk that is there, and SHA-256's state before it. */
  readonly stored?: ChunksRequest['stored'][number];
  /** A chunk to upload. */
  readonly wanted?: ChunksRequest['wanted'][number];
}

/** The upload ended in one way or another: its status says in which. */
export class NotOpenError extends Error {
  override readonly name = 'NotOpenError';
}

export class ChunkClient {
  readonly #deps: DownloadDeps;
  readonly #action: BatchAction;
  #waiting: { asked: Asked; resolve: (posted: WireChunks) => void; reject: (error: unknown) => void }[] = [];
  #isPosting = false;

  constructor(deps: DownloadDeps, action: BatchAction) {
    this.#deps = deps;
    this.#action = action;
  }

  /** @throws {UploadError} if there's no such upload. @throws {TransferError} */
  status(): Promise<WireChunkedUpload> {
    return this.#ask(statusShape, 'GET');
  }

  /** Those who ask while a request is on its way share the next one. @throws as `status`. @throws {NotOpenError} */
  async post(asked: Asked): Promise<WireChunks> {
    const answered = new Promise<WireChunks>((resolve, reject) =>
      this.#waiting.push({ asked, resolve, reject }),
    );
    if (!this.#isPosting) void this.#postAll();
    const posted = await answered;
    if (posted.state !== 'open' && (asked.stored || asked.wanted)) throw new NotOpenError();
    return posted;
  }

  /** Where a chunk is uploaded. @throws as `post`. */
  async urlOf(wanted: NonNullable<Asked['wanted']>): Promise<BatchAction> {
    const { urls } = await this.post({ wanted });
    const url = urls.find(({ chunk }) => chunk === wanted.chunk);
    if (url && URL.canParse(url.href)) return url;
    throw new TransferError('The server returned no URL.');
  }

  async #postAll(): Promise<void> {
    this.#isPosting = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, chunksMax);
      const stored = group.flatMap(({ asked }) => asked.stored ?? []);
      const wanted = group.flatMap(({ asked }) => asked.wanted ?? []);
      await this.#ask(postedShape, 'POST', [Buffer.from(JSON.stringify({ stored, wanted }))]).then(
        (posted) => {
          for (const { resolve } of group) resolve(posted);
        },
        (error: unknown) => {
          for (const { reject } of group) reject(error);
        },
      );
    }
    this.#isPosting = false;
  }

  async #ask<T>(shape: z.ZodType<T>, method: 'GET' | 'POST', pieces: readonly Buffer[] = []): Promise<T> {
    const { stop } = this.#deps;
    const ofBody = pieces.map(({ length }) => ({ 'content-type': mediaType, 'content-length': `${length}` }));
    const headers = { accept: mediaType, ...ofBody[0] };
    const attempt = async () => {
      const signal = AbortSignal.any([stop, AbortSignal.timeout(requestMs)]);
      const sent = { method, action: this.#action, headers, pieces, signal };
      const answer = shape.safeParse(parseJson(await requestByHand('server', sent)));
      if (answer.success) return answer.data;
      throw new TransferError("The server returned something that lfs-quota can't read.");
    };
    return sendAgain(this.#deps, { attempt }).catch((error: unknown) => {
      throw error instanceof RefusedError ? refusal(error) : error;
    });
  }
}

function refusal({ status, message }: RefusedError): Error {
  if (status === 404)
    return new UploadError('This upload expired. Push again: it continues where it was if it can.');
  return new UploadError(`${message} Update lfs-quota, then push again.`);
}
