import { element } from './xml.ts';

/** An error response with S3's code and status. The message reaches the client. */
export class S3Error extends Error {
  override readonly name = 'S3Error';
  readonly code: S3ErrorCode;
  readonly status: number;
  /** Response headers that the error adds. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: S3ErrorCode,
    message: string,
    options: { headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = statusByCode[code];
    this.headers = options.headers ?? {};
  }
}

/**
 * S3's error codes and their statuses: docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html. S3 has none for a
 * full disk, so `InsufficientStorage` is the name of its status (RFC 4918).
 */
const statusByCode = {
  AccessDenied: 403,
  AuthorizationHeaderMalformed: 400,
  AuthorizationQueryParametersError: 400,
  BadDigest: 400,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  IncompleteBody: 400,
  InsufficientStorage: 507,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidDigest: 400,
  InvalidPart: 400,
  InvalidPartNumber: 416,
  InvalidPartOrder: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidToken: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedTrailerError: 400,
  MalformedXML: 400,
  MaxMessageLengthExceeded: 400,
  MetadataTooLarge: 400,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
  PreconditionFailed: 412,
  RequestTimeTooSkewed: 403,
  RequestTimeout: 400,
  SignatureDoesNotMatch: 403,
  XAmzContentSHA256Mismatch: 400,
} as const;

export type S3ErrorCode = keyof typeof statusByCode;

/** The body of an error response. */
export function errorXml(error: S3Error, request: { resource: string; requestId: string }): string {
  return (
    '<Error>' +
    element('Code', error.code) +
    element('Message', error.message) +
    element('Resource', request.resource) +
    element('RequestId', request.requestId) +
    '</Error>'
  );
}

/** The error for something that the store does not support. It names it, so that nobody takes silence for support. */
export function notImplemented(what: string): S3Error {
  return new S3Error('NotImplemented', `This store does not implement ${what}.`);
}

/** A condition of the request does not hold, such as If-None-Match. */
export function preconditionFailed(): S3Error {
  return new S3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold');
}

export function noSuchKey(): S3Error {
  return new S3Error('NoSuchKey', 'The specified key does not exist.');
}
