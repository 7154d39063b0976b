import type { IncomingMessage } from 'node:http';
import type { Authenticated } from './authenticate.ts';
import type { MultipartFiles } from './multipart-files.ts';
import type { ObjectFiles } from './object-files.ts';
import type { StoreReply } from './reply.ts';
import type { S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';
import type { UploadTime } from './upload-deadline.ts';

export interface OperationInput {
  readonly files: ObjectFiles;
  readonly multipart: MultipartFiles;
  readonly bucket: string;
  readonly request: StoreRequest;
  readonly authenticated: Authenticated;
  /** Tells the client to send its body if it waits for that, and returns the body. */
  readonly body: () => IncomingMessage;
  readonly now: () => number;
  readonly uploadTime: UploadTime;
  /** What the client is to hear of something thrown. */
  readonly errorOf: (thrown: unknown) => S3Error;
  /** The response to an error, as XML. */
  readonly errorReply: (thrown: unknown) => StoreReply & { readonly body: string };
}

/** An operation and the parameters it supports. A request with any other parameter is refused, not ignored. */
export interface Operation {
  readonly on: 'bucket' | 'object';
  readonly method: string;
  /** Parameters and headers that tell it from others of the same method: all of them must be there. */
  readonly marks?: { readonly query?: readonly string[]; readonly headers?: readonly string[] };
  /** True if the signature must be in the headers. A presigned URL is not enough, whatever it signs. */
  readonly refusesUrls?: boolean;
  /** Supported beside the marks. */
  readonly query?: readonly string[];
  /** Supported headers among those that begin with `x-amz-`, beside the marks. */
  readonly headers?: readonly string[];
  /** True if it keeps the headers `x-amz-meta-…`. */
  readonly takesMetadata?: boolean;
  readonly refusedHeaders?: readonly string[];
  readonly run: (input: OperationInput) => Promise<StoreReply> | StoreReply;
}
