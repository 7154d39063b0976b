import {
  BucketClient,
  DeadlineError,
  type RetrySettings,
  type S3Settings,
  type StoreCall,
} from '../store/bucket-client.ts';
import { type AnswerReader, type Exchange, OtherProtocolError } from '../store/http-exchange.ts';
import { objectLimits, translateStoreError } from '../store/object-store.ts';
import {
  BrokenListingError,
  type DelimitedPage,
  type ListedPage,
  type ListPageRequest,
  type ObjectListing,
  StoreUnavailableError,
} from '../store/rules/store.ts';
import { folderPageReader, KeyCountError, ListPageReader, type ScannedPage } from './parse-list-answer.ts';
import type { EntryReaderOptions } from './parse-list-entries.ts';

/** Enough pages for the engine to compile the code that reads them. */
const warmUpPages = 8;

/** Replaces the network: answers every request with one full page of made-up keys. */
const warmUpExchange: Exchange = {
  send: async ({ readerOf }) => {
    const reader = readerOf({ status: 200, headers: {} });
    // In pieces of the size that a socket delivers.
    for (let at = 0; at < page.length; at += 65_536) reader.write(page.subarray(at, at + 65_536));
    return reader.end();
  },
  destroy: () => {},
};

/** A bucket to which no request is ever sent. */
const warmUpPlace: S3Settings = {
  bucket: 'warm-up',
  region: 'us-east-1',
  credentials: async () => ({ accessKeyId: 'warm-up', secretAccessKey: 'warm-up' }),
};

const page = Buffer.from(renderPage());

function renderPage(): string {
  const entries = Array.from({ length: 1000 }, (_, index) => {
    const name = index.toString(16).padStart(64, '0');
    return (
      `<Contents><Key>tenant/repo/${name}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>` +
      `<ETag>&quot;${name.slice(32)}&quot;</ETag><ChecksumAlgorithm>SHA256</ChecksumAlgorithm>` +
      `<ChecksumType>FULL_OBJECT</ChecksumType><Size>${index * 1009}</Size>` +
      '<StorageClass>STANDARD</StorageClass></Contents>'
    );
  });
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
    '<Name>bucket</Name><Prefix>tenant/repo/</Prefix><KeyCount>1000</KeyCount><MaxKeys>1000</MaxKeys>' +
    `<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>${entries.join('')}</ListBucketResult>`
  );
}

/** Stores are slower to list than to serve objects. */
const pageLimits = {
  connectMs: 5_000,
  /** Longest wait for a page, or for its next byte. */
  answerMs: 20_000,
  attemptsMax: 10,
  baseDelayMs: 50,
  throttledDelayMs: 500,
  delayMaxMs: 5_000,
  retryAfterMaxMs: 20_000,
};

interface ScanListingInput {
  readonly client: BucketClient;
  /** When a page is fetched again. */
  readonly retry?: Partial<RetrySettings>;
}

/**
 * Lists one bucket. It requests keys in URL encoding, because XML cannot represent some characters that a key may
 * contain. A page that was cut off, or that is an error with status 200, is fetched again.
 */
export class ScanListing implements ObjectListing {
  readonly #client: BucketClient;
  readonly #limits: StoreCall<unknown>['limits'];
  /** Off after the first page that was misread because of it. That page and all later ones are read without. */
  #isPredicting = true;

  constructor({ client, retry }: ScanListingInput) {
    this.#client = client;
    this.#limits = { ...pageLimits, ...retry };
  }

  /** @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  async listPage(request: ListPageRequest): Promise<ListedPage> {
    const { prefix, startAfter, continuationToken, maxKeys, signal, deadlineMs } = request;
    const { readsTimes = false, readsEtags = false, readsClasses = false } = request;
    const query = {
      ...queryOf({ prefix, continuationToken }),
      ...(continuationToken === undefined && startAfter !== undefined && { 'start-after': startAfter }),
      ...(maxKeys !== undefined && { 'max-keys': String(maxKeys) }),
    };
    const endsWithinMs = deadlineMs === undefined ? undefined : deadlineMs - Date.now();
    const reader = () => this.#pageReader({ readsTimes, readsEtags, readsClasses });
    return this.#list({ query, limits: this.#limits, signal, endsWithinMs, reader });
  }

  /** @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  async listFolders(request: { prefix: string; continuationToken?: string }): Promise<DelimitedPage> {
    const query = { ...queryOf(request), delimiter: '/' };
    const limits = objectLimits(this.#client.timeoutFactor);
    return this.#list({ query, limits, reader: folderPageReader });
  }

  /**
   * Reads a few made-up pages, without the network but with everything else that a real page needs. The first pages
   * of a new process cost several times the CPU time of later ones, because nothing is compiled yet. A function has a
   * whole core while it starts, and only a fraction of one when somebody waits.
   */
  async warmUp(): Promise<void> {
    const warm = new ScanListing({ client: new BucketClient(warmUpPlace, warmUpExchange) });
    const { signal } = new AbortController();
    for (let turn = 0; turn < warmUpPages; turn += 1) {
      const page = await warm.listPage({ prefix: 'tenant/repo/', startAfter: 'tenant/repo/0', signal });
      page.keyAt(page.keyCount - 1);
    }
  }

  async #list<T>(input: {
    query: Readonly<Record<string, string>>;
    limits: StoreCall<T>['limits'];
    signal?: AbortSignal | undefined;
    endsWithinMs?: number | undefined;
    reader: () => AnswerReader<T>;
  }): Promise<T> {
    const { signal, reader, ...call } = input;
    try {
      const readerOf: StoreCall<T>['readerOf'] = ({ status }) => (status === 200 ? reader() : undefined);
      return await this.#client.send({ ...call, method: 'GET', signal, readerOf });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof DeadlineError) {
        const message = `The store did not serve LIST ${error.message}.`;
        throw new StoreUnavailableError(message, { cause: error.cause ?? error });
      }
      if (error instanceof OtherProtocolError) throw new BrokenListingError(error.message);
      throw translateStoreError(error, 'LIST');
    }
  }

  #pageReader(options: Omit<EntryReaderOptions, 'isPredicting'>): AnswerReader<ScannedPage> {
    const isPredicting = this.#isPredicting;
    const reader = new ListPageReader({ ...options, isPredicting });
    return {
      write: (piece) => reader.write(piece),
      end: () => {
        try {
          return reader.end();
        } catch (error) {
          if (!(error instanceof KeyCountError)) throw error;
          this.#isPredicting = false;
          throw isPredicting ? error : new OtherProtocolError(error.message);
        }
      },
    };
  }
}

function queryOf(request: { prefix: string; continuationToken?: string | undefined }) {
  const { prefix, continuationToken } = request;
  return {
    'list-type': '2',
    'encoding-type': 'url',
    prefix,
    ...(continuationToken !== undefined && { 'continuation-token': continuationToken }),
  };
}
