import { S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';

/** What a request claims about its signature. None of it is verified yet. */
export interface Signature {
  readonly accessKeyId: string;
  readonly region: string;
  readonly signedAtMs: number;
  /** Only for a presigned URL. */
  readonly expiresSeconds: number | undefined;
  /** Lower-case names. */
  readonly signedHeaders: readonly string[];
  /** 64 hex digits. */
  readonly value: string;
}

const algorithm = 'AWS4-HMAC-SHA256';
const expiresSecondsMax = 604_800;

/**
 * Reads Signature Version 4 from the Authorization header or from the query, never from both.
 * @throws {S3Error}
 */
export function readSignature(request: StoreRequest): Signature {
  const { authorization } = request.headers;
  const isPresigned = [...request.query.keys()].some((name) => /^x-amz-(algorithm|signature)$/i.test(name));
  if (authorization !== undefined && isPresigned) {
    throw new S3Error(
      'InvalidArgument',
      'Only one auth mechanism allowed: the query or the Authorization header.',
    );
  }
  if (authorization !== undefined) return readHeader(request, authorization);
  if (isPresigned) return readPresigned(request);
  throw new S3Error('AccessDenied', 'The request is not signed.');
}

function readHeader({ headers }: StoreRequest, authorization: string): Signature {
  const fail = (message: string) => new S3Error('AuthorizationHeaderMalformed', message);
  if (!authorization.startsWith(`${algorithm} `)) {
    throw new S3Error('InvalidRequest', `The authorization mechanism is not supported; use ${algorithm}.`);
  }
  const fields = new Map(
    authorization
      .slice(algorithm.length)
      .split(',')
      .map((field) => field.trim().split(/=(.*)/s, 2) as [string, string | undefined]),
  );
  const date = headers['x-amz-date'];
  if (typeof date !== 'string') throw new S3Error('AccessDenied', 'The request needs the header x-amz-date.');
  return {
    ...readCredential(fields.get('Credential'), { date, fail }),
    signedAtMs: readTime(date, fail),
    expiresSeconds: undefined,
    signedHeaders: readNames(fields.get('SignedHeaders'), fail),
    value: readValue(fields.get('Signature'), fail),
  };
}

function readPresigned({ query }: StoreRequest): Signature {
  const fail = (message: string) => new S3Error('AuthorizationQueryParametersError', message);
  if (query.get('X-Amz-Algorithm') !== algorithm) throw fail(`X-Amz-Algorithm must be ${algorithm}.`);
  const date = query.get('X-Amz-Date') ?? '';
  const expires = query.get('X-Amz-Expires') ?? '';
  const expiresSeconds = Number(expires);
  if (!/^[1-9]\d{0,5}$/.test(expires) || expiresSeconds > expiresSecondsMax) {
    throw fail(`X-Amz-Expires must be 1 to ${expiresSecondsMax} seconds.`);
  }
  return {
    ...readCredential(query.get('X-Amz-Credential'), { date, fail }),
    signedAtMs: readTime(date, fail),
    expiresSeconds,
    signedHeaders: readNames(query.get('X-Amz-SignedHeaders'), fail),
    value: readValue(query.get('X-Amz-Signature'), fail),
  };
}

type Fail = (message: string) => S3Error;

/** `ACCESS_KEY/YYYYMMDD/region/s3/aws4_request`. The day must be the day of the request's time. */
function readCredential(text: string | undefined, { date, fail }: { date: string; fail: Fail }) {
  const match = /^(.+)\/(\d{8})\/([^/]+)\/s3\/aws4_request$/.exec(text ?? '');
  const [, accessKeyId, day, region] = match ?? [];
  if (accessKeyId === undefined || day === undefined || region === undefined) {
    throw fail('The credential must be KEY/YYYYMMDD/REGION/s3/aws4_request.');
  }
  if (day !== date.slice(0, 8)) throw fail('The day of the credential is not the day of the request.');
  return { accessKeyId, region };
}

function readTime(text: string, fail: Fail): number {
  const timeMs = Date.parse(text.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5'));
  if (!/^\d{8}T\d{6}Z$/.test(text) || Number.isNaN(timeMs)) throw fail('The date must be YYYYMMDDTHHMMSSZ.');
  return timeMs;
}

function readNames(text: string | undefined, fail: Fail): readonly string[] {
  if (text === undefined || !/^[a-z0-9-]+(;[a-z0-9-]+)*$/.test(text)) {
    throw fail('The signed headers must be lower-case names, joined by semicolons.');
  }
  return text.split(';');
}

function readValue(text: string | undefined, fail: Fail): string {
  if (text === undefined || !/^[0-9a-f]{64}$/.test(text)) throw fail('The signature must be 64 hex digits.');
  return text;
}
