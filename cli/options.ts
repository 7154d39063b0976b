import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseSize } from '../lambda/domain/bytes.ts';
import { isOid, isRepoName, isTenantName, tenantNameRule } from '../lambda/domain/names.ts';
import { ApiClient } from './api-client.ts';
import type { CliContext } from './context.ts';
import { UsageError } from './errors.ts';

const defaultUrl = 'http://127.0.0.1:8787';

/** Options of every command that asks the API. */
export interface ApiOptions {
  readonly url?: string;
  readonly token?: string;
  readonly json?: boolean;
}

/** Adds `--url`, `--token` and `--json` to a command. */
export function withApiOptions(command: Command): Command {
  return command
    .addOption(new Option('--url <url>', `the API's address (env: LFS_QUOTA_URL, default: ${defaultUrl})`))
    .addOption(
      new Option('--token <token>', 'the admin token (env: LFS_QUOTA_TOKEN, which no process list shows)'),
    )
    .option('--json', "print the API's body as it is");
}

/** The client that the flags and the environment describe. Flags win. @throws {UsageError} */
export function openClient(options: ApiOptions, context: CliContext): ApiClient {
  const url = options.url ?? (context.env['LFS_QUOTA_URL'] || defaultUrl);
  const token = options.token ?? context.env['LFS_QUOTA_TOKEN'];
  if (!token) {
    throw new UsageError(
      'no token: set LFS_QUOTA_TOKEN (or --token) to the admin token; `npm start` shows it',
    );
  }
  // fetch would refuse the header, and print the token with its reason.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError('the token holds characters that no token has');
  return new ApiClient({ baseUrl: readBaseUrl(url), token });
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`'${text}' is no address: give one such as ${defaultUrl}`);
  }
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

/** A tenant's name, checked here because `..` in a path would ask for something else. */
export function parseTenant(text: string): string {
  if (!isTenantName(text)) throw new InvalidArgumentError(`A tenant's name is ${tenantNameRule}.`);
  return text;
}

/** A repo's name; as in its URL, `.git` may follow. */
export function parseRepo(text: string): string {
  const name = text.replace(/\.git$/, '');
  if (!isRepoName(name)) throw new InvalidArgumentError('`repo list TENANT` shows the names of the repos.');
  return name;
}

/** The id of an LFS object. */
export function parseOid(text: string): string {
  if (!isOid(text)) throw new InvalidArgumentError('An oid is 64 digits of lower-case hex.');
  return text;
}

/** A limit: a size, or `unlimited` as null. */
export function parseLimit(text: string): number | null {
  if (text.toLowerCase() === 'unlimited') return null;
  const bytes = parseSize(text);
  if (bytes === undefined) {
    throw new InvalidArgumentError('Give a size such as 500MB, 1GiB or 1.5TiB, or `unlimited`.');
  }
  return bytes;
}

/** A token's id as `token list` shows it. */
export function parseTokenId(text: string): string {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(text)) {
    throw new InvalidArgumentError('`token list TENANT` shows the ids; the token itself is not its id.');
  }
  return text;
}
