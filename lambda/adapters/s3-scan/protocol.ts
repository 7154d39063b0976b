import type { Readable } from 'node:stream';
import { S3RestXmlProtocol } from '@aws-sdk/middleware-sdk-s3/s3';
import type { ScannedPage } from './page.ts';
import { KeyCountError, ListPageReader } from './page-reader.ts';
import { MalformedPageError } from './xml.ts';

type Deserialize = S3RestXmlProtocol['deserializeResponse'];

const pages = new WeakMap<object, ScannedPage>();

/** The page that an output of a client with {@link ScanProtocol} stands for; undefined for any other. */
export function scannedPageOf(output: object): ScannedPage | undefined {
  return pages.get(output);
}

/**
 * The SDK's own S3 protocol, but that pages of ListObjectsV2 are read by a {@link ListPageReader}. It works
 * within the SDK's retries: a page that was cut, or that is an error with status 200, is fetched again, which
 * the SDK's own reader would hand on as an error or, worse, as a short page.
 */
export class ScanProtocol extends S3RestXmlProtocol {
  /** Until a page was misread by it: then the page is fetched again, and all are read without. */
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

/** Reads a Node response as it arrives. Listening costs a fraction of iterating. */
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

/** An error document that came with status 200: S3 sends one where it fails after it began to answer. */
function errorInBody(text: string): MalformedPageError | undefined {
  const [, code] = /<Error>.*?<Code>([^<]*)/s.exec(text) ?? [];
  return code === undefined
    ? undefined
    : new MalformedPageError(`The store answered 200 with the error ${code}.`);
}

/** Marks an error as one that the SDK's retry strategy tries again. */
function retryable(error: unknown, $metadata: object): unknown {
  if (!(error instanceof MalformedPageError)) return error;
  return Object.assign(error, { $retryable: { throttling: false }, $metadata });
}
