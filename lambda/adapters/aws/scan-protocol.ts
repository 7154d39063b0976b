import { S3RestXmlProtocol } from '@aws-sdk/middleware-sdk-s3/s3';
import type { ScannedPage } from './scan-page.ts';
import { readListPage } from './scan-page-reader.ts';
import { MalformedPageError } from './scan-xml.ts';

type Deserialize = S3RestXmlProtocol['deserializeResponse'];

const pages = new WeakMap<object, ScannedPage>();

/** The page that an output of a client with {@link ScanProtocol} stands for; undefined for any other. */
export function scannedPageOf(output: object): ScannedPage | undefined {
  return pages.get(output);
}

/**
 * The SDK's own S3 protocol, but that pages of ListObjectsV2 are read by {@link readListPage}. It works within
 * the SDK's retries: a page that was cut, or that is an error with status 200, is fetched again, which the
 * SDK's own reader would hand on as an error or, worse, as a short page.
 */
export class ScanProtocol extends S3RestXmlProtocol {
  override async deserializeResponse<Output extends { $metadata: object }>(
    ...[operation, context, response]: Parameters<Deserialize>
  ): Promise<Output> {
    if (operation.name !== 'ListObjectsV2' || response.statusCode !== 200) {
      return super.deserializeResponse(operation, context, response);
    }
    const $metadata = this.deserializeMetadata(response);
    const body = await collect(response.body);
    const output = { $metadata } as unknown as Output;
    try {
      pages.set(output, readListPage(body));
    } catch (error) {
      throw retryable(errorInBody(body) ?? error, $metadata);
    }
    return output;
  }
}

/** Whole body of a Node response. Listening costs a fraction of iterating. */
function collect(stream: NodeJS.ReadableStream): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => resolve(Buffer.concat(chunks)));
    stream.on('error', reject);
  });
}

/** An error document that came with status 200: S3 sends one where it fails after it began to answer. */
function errorInBody(body: Buffer): MalformedPageError | undefined {
  const [, code] = /<Error>.*?<Code>([^<]*)/s.exec(body.toString('utf8', 0, 4096)) ?? [];
  return code === undefined
    ? undefined
    : new MalformedPageError(`The store answered 200 with the error ${code}.`);
}

/** Marks an error as one that the SDK's retry strategy tries again. */
function retryable(error: unknown, $metadata: object): unknown {
  if (!(error instanceof MalformedPageError)) return error;
  return Object.assign(error, { $retryable: { throttling: false }, $metadata });
}
