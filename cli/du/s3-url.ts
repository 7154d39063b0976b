import { UsageError } from '../errors.ts';

/**
 * `s3://bucket/a/b` has the prefix `a/b/`; `s3://bucket/a/b*` has the prefix `a/b`.
 *
 * @throws {UsageError}
 */
export function parseS3Url(url: string): { bucket: string; prefix: string } {
  const [, bucket, path = ''] = /^s3:\/\/([A-Za-z0-9][A-Za-z0-9._-]{1,62})(?:\/(.*))?$/s.exec(url) ?? [];
  if (bucket === undefined) {
    throw new UsageError(`'${url}' names no bucket. Give s3://BUCKET or s3://BUCKET/PATH.`);
  }
  if (path.endsWith('*')) return { bucket, prefix: path.slice(0, -1) };
  return { bucket, prefix: path === '' || path.endsWith('/') ? path : `${path}/` };
}
