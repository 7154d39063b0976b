import { type Command, InvalidArgumentError, Option } from 'commander';
import { isDay } from '../lambda/core/rules/dates.ts';
import { isTenantName, repoNamed, tenantNameRule } from '../lambda/core/rules/names.ts';
import { parseSize } from '../lambda/core/rules/sizes.ts';
import type { CliContext } from './context.ts';
import { UsageError } from './errors.ts';
import { defaultUrl, readBaseUrl } from './server.ts';

/** The token that commands need which a tenant's own administrator may use too, for a person. */
export const managerToken = 'the admin token, or one of the tenant with the scope manage';

const urlOption = new Option(
  '--url <url>',
  `server URL (env: LFS_QUOTA_URL; default: your login, or ${defaultUrl})`,
);
const tokenOption = new Option('--token <token>', 'access token (env: LFS_QUOTA_TOKEN; default: your login)');

export function withServiceOptions(command: Command): Command {
  return command.addOption(urlOption).addOption(tokenOption);
}

/** Of commands that ask a store themselves. */
export const endpointOption = [
  '--endpoint <url>',
  'store URL (env: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; default: AWS)',
] as const;

/** Where a store is. `endpoint` undefined: AWS. @throws {UsageError} */
export function storePlaceOf(
  { endpoint, region }: { readonly endpoint?: string | undefined; readonly region?: string | undefined },
  { env }: CliContext,
): { endpoint: string | undefined; region: string } {
  const url = endpoint ?? (env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL'] || undefined);
  return {
    endpoint: url === undefined ? undefined : readBaseUrl(url, 'https://ACCOUNT.r2.cloudflarestorage.com'),
    region: region ?? (env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1'),
  };
}

/** A tenant's name. It is checked here because `..` in a path would lead to another endpoint. */
export function parseTenant(text: string): string {
  if (!isTenantName(text)) throw new InvalidArgumentError(`A tenant's name is ${tenantNameRule}.`);
  return text;
}

/** A repo's name. It may end in `.git`, as in its URL. */
export function parseRepo(text: string): string {
  const name = repoNamed(text);
  if (name === undefined) throw new InvalidArgumentError('List them: lfs-quota repo list TENANT');
  return name;
}

/** A bucket, one of a tenant of Ceph, or the ARN of an access point, which may have a slash. */
const s3Url =
  /^s3:\/\/((?:[\w$-]{0,128}:)?[A-Za-z0-9_][A-Za-z0-9._-]{1,62}|arn:[\w-]+:s3:[\w-]+:\d+:accesspoint[/:][\w-]{1,63})(?:\/(.*))?$/s;

/**
 * `s3://bucket/a/b` has the prefix `a/b/`; `s3://bucket/a/b*` has the prefix `a/b`. The bucket of `serve` is `_objects`.
 *
 * @throws {UsageError}
 */
export function parseS3Url(url: string): { bucket: string; prefix: string } {
  const [, bucket, path = ''] = s3Url.exec(url) ?? [];
  if (bucket === undefined) {
    throw new UsageError(`'${url}' has no bucket (3 to 63 characters). Use s3://BUCKET or s3://BUCKET/PATH.`);
  }
  if (path.endsWith('*')) return { bucket, prefix: path.slice(0, -1) };
  return { bucket, prefix: path === '' || path.endsWith('/') ? path : `${path}/` };
}

/** A whole number from 1 to the largest that is allowed. */
export function parseUpTo(max: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (/^\d+$/.test(text) && count >= 1 && count <= max) return count;
    const range = max === Number.MAX_SAFE_INTEGER ? 'of 1 or more' : `from 1 to ${max}`;
    throw new InvalidArgumentError(`Use a whole number ${range}.`);
  };
}

/** The texts of an option that is repeated. */
export const collect = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

/** The repos of an option that is repeated. */
export const eachRepo = (text: string, before: string[] | undefined): string[] => [
  ...(before ?? []),
  parseRepo(text),
];

/** A limit in bytes; null for `unlimited`. */
export function parseLimit(text: string): number | null {
  return text.toLowerCase() === 'unlimited' ? null : parseBytes(text, 'For no limit, use `unlimited`.');
}

/** A size in bytes. @param hint what else the option takes. */
export function parseBytes(text: string, hint?: string): number {
  const size = parseSize(text);
  if ('bytes' in size) return size.bytes;
  throw new InvalidArgumentError(hint === undefined ? size.problem : `${size.problem} ${hint}`);
}

/** The same for an option, which cannot be null: commander makes that an empty text. */
export function parseLimitOption(text: string): { readonly bytes: number | null } {
  return { bytes: parseLimit(text) };
}

/** A text of this form, such as an id. It is checked because `..` in a path would lead to another endpoint. */
export const matching =
  (pattern: RegExp, problem: string) =>
  (text: string): string => {
    if (!pattern.test(text)) throw new InvalidArgumentError(problem);
    return text;
  };

/** A day in UTC, such as `2026-11-21`. */
export function parseDay(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || !isDay(text))
    throw new InvalidArgumentError('Use a day such as 2026-11-21.');
  return text;
}

type Days = { readonly from?: string | undefined; readonly to?: string | undefined };

/** @returns the days alone. @throws {UsageError} if the first is after the last one, of which nothing could be shown. */
export function requireDaysInOrder({ from, to }: Days): Days {
  if (from !== undefined && to !== undefined && from > to)
    throw new UsageError(`--from ${from} is after --to ${to}. Swap them.`);
  return { from, to };
}

const secondsOf = { m: 60, h: 3600, d: 86_400 } as const;

/** How long something is valid, such as `90d`. @returns seconds. */
export function parseLifetime(text: string): number {
  const [, count, unit] = /^(\d{1,9})([mhd])$/.exec(text) ?? [];
  if (count === undefined)
    throw new InvalidArgumentError('Use minutes, hours or days, such as 30m, 12h or 90d, up to 365d.');
  return Number(count) * secondsOf[unit as keyof typeof secondsOf];
}
