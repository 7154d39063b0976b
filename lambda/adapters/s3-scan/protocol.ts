import type { Readable } from 'node:stream';
import { S3RestXmlProtocol } from '@aws-sdk/middleware-sdk-s3/s3';
import type { ScannedPage } from './page.ts';
import { KeyCountError, ListPageReader } from './page-reader.ts';
import { MalformedPageError } from './xml.ts';

type Deserialize = S3RestXmlProtocol['deserializeResponse'];

const pages = new WeakMap<object, ScannedPage>();

/** The page behind an output of a client with {@link ScanProtocol}; undefined for any other output. */
export function scannedPageOf(output: object): ScannedPage | undefined {
  return pages.get(output);
}

/**
 * The SDK's S3 protocol, except that a {@link ListPageReader} reads the pages of ListObjectsV2. It works within the
 * SDK's retries: a page that was cut off, or that is an error with status 200, is fetched again. The SDK's own reader
 * would return an error or, worse, a short page.
 */
export class ScanProtocol extends S3RestXmlProtocol {
  /** Off after the first page that was misread because of it. That page and all later ones are read without. */
  #isPredicting = true;

  override async deserializeResponse<Output extends { $metadata: object }>(
    ...[operation, context, response]: Parameters<Deserialize>
  ): Promise<Output> {
    if (operation.name !== 'ListObjectsV2' || response.statusCode !== 200) {
      return super.deserializeResponse(operation, context, response);
    }
    const $metadata = this.deserializeMetadata(response);
    const output = { $metadata } as unknown as Output;
    const reader = new ListPageReader({ isPredicting: this.#isPredicting });
    try {
      pages.set(output, await readAll(response.body, reader));
    } catch (error) {
      if (error instanceof KeyCountError) this.#isPredicting = false;
      throw retryable(errorInBody(reader.textWithoutEntries) ?? error, $metadata);
    }
    return output;
  }
}

/** Reads a response as it arrives. Listening to events costs a fraction of iterating over the stream. */
function readAll(stream: Readable, reader: ListPageReader): Promise<ScannedPage> {
  return new Promise((resolve, reject) => {
    stream.on('data', (piece: Buffer) => {
      try {
        reader.write(piece);
      } catch (error) {
        stream.destroy();
        reject(error);
      }
    });
    stream.on('end', () => {
      try {
        resolve(reader.end());
      } catch (error) {
        reject(error);
      }
    });
    stream.on('error', reject);
  });
}

/** An error document with status 200, which S3 sends when it fails after it began to answer. */
function errorInBody(text: string): MalformedPageError | undefined {
  const [, code] = /<Error>.*?<Code>([^<]*)/s.exec(text) ?? [];
  return code === undefined
    ? undefined
    : new MalformedPageError(`The store answered 200 with the error ${code}.`);
}

/** Marks a malformed page as an error after which the SDK retries. */
function retryable(error: unknown, $metadata: object): unknown {
  if (!(error instanceof MalformedPageError)) return error;
  return Object.assign(error, { $retryable: { throttling: false }, $metadata });
}
