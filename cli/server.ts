import { ApiClient } from './api-client.ts';
import type { CliContext } from './context.ts';
import { readCredentials } from './credentials.ts';
import { adminTokenPlace, UsageError } from './errors.ts';
import { tokenOfGit } from './git/credential-helper.ts';
import { type LfsAddress, lfsAddressOf, readLfsAddress } from './git/git.ts';
import { BusyLine } from './progress.ts';

/** The server that a command asks, and the tenant and repo of the clone that it's called in. */

export const defaultUrl = 'http://127.0.0.1:8787';

/** Options of every command that calls the API. */
export interface ApiOptions {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly json?: boolean;
}

/**
 * A client for the server and the token of this call:
 *
 * 1. `--url`, or else LFS_QUOTA_URL. The token is `--token`, LFS_QUOTA_TOKEN, or that of the login there.
 * 2. With a token but no URL, the default URL: a token goes to no server that its user didn't choose.
 * 3. The login at the server of the clone's `lfs.url`, or git's token for it. A clone can't name a server without either.
 * 4. The only login.
 *
 * @param wanted the token that the command needs, for a person. Without it, which one depends on what is asked.
 * @throws {UsageError}
 */
export async function openClient(
  options: Pick<ApiOptions, 'url' | 'token'>,
  context: CliContext,
  wanted?: string,
): Promise<ApiClient> {
  const givenToken = options.token ?? (context.env['LFS_QUOTA_TOKEN'] || undefined);
  const givenUrl = options.url ?? (context.env['LFS_QUOTA_URL'] || undefined);
  const { logins } = readCredentials(context);
  const urls = Object.keys(logins);
  const ofClone =
    givenUrl === undefined && givenToken === undefined ? await cloneAddress(context) : undefined;
  const tokenAt = async (url: string) => logins[url]?.token ?? (await tokenOfGit(url, context));
  const ofCloneToken = ofClone && (await tokenAt(ofClone.baseUrl));
  const baseUrl = (() => {
    if (givenUrl !== undefined) return readBaseUrl(givenUrl, defaultUrl);
    if (givenToken !== undefined) return defaultUrl;
    if (ofClone && ofCloneToken !== undefined) return ofClone.baseUrl;
    if (urls.length > 1)
      throw new UsageError(`You're logged in to ${urls.length} servers. Pass one: --url ${urls[0]}`);
    return urls[0] ?? ofClone?.baseUrl ?? defaultUrl;
  })();
  const token = givenToken ?? ofCloneToken ?? (await tokenAt(baseUrl));
  if (!token) {
    const which = wanted === undefined ? adminTokenPlace : `You need ${wanted}.`;
    throw new UsageError(
      `No token. Log in: lfs-quota login ${baseUrl}\nOr set LFS_QUOTA_TOKEN or pass --token. ${which}`,
    );
  }
  const login = token === logins[baseUrl]?.token ? (logins[baseUrl].tenant ?? baseUrl) : undefined;
  return clientFor(context, { baseUrl, token: checkedToken(token), login });
}

/** The tenant of the only login, if a call outside a clone uses that. */
export function loginTenant({ url, token }: ApiOptions, { env }: CliContext): string | undefined {
  const [login, ...others] = Object.values(readCredentials({ env }).logins);
  const isGiven = url ?? token ?? (env['LFS_QUOTA_URL'] || env['LFS_QUOTA_TOKEN']);
  return isGiven || others.length > 0 ? undefined : (login?.tenant ?? undefined);
}

/** @param place.token '': none. @param place.login what a stored login is for. */
export function clientFor(
  context: CliContext,
  place: { baseUrl: string; token: string; login?: string | undefined },
): ApiClient {
  return new ApiClient({ ...place, busy: new BusyLine(context) });
}

/** @throws {UsageError} for what no header can hold: `fetch` would reject it with a message that holds the token. */
export function checkedToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new UsageError('The token has invalid characters. Copy it again, without spaces or line breaks.');
}

/** An address, always in the same form: of a clone's `lfs.url` the server's. @param example of one. @throws {UsageError} */
export function readBaseUrl(text: string, example: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const isHost = URL.canParse(`https://${text}`) && /^[\w.-]+(:\d+)?(\/|$)/.test(text);
    throw new UsageError(`'${text}' isn't a URL. Use one such as ${isHost ? `https://${text}` : example}.`);
  }
  if (/\/info\/lfs\/?$/.test(url.pathname)) return readLfsAddress(text)?.baseUrl ?? url.origin;
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

/** Where the clone in the user's folder keeps its objects. undefined: it's no clone, or has no such `lfs.url`. */
export function cloneAddress({ folder = '.' }: Pick<CliContext, 'folder'>): Promise<LfsAddress | undefined> {
  return lfsAddressOf(folder).catch(() => undefined);
}

/** A clone of another server has the names of another server. @throws {UsageError} */
export function requireServerOf({ baseUrl }: Pick<LfsAddress, 'baseUrl'>, client: ApiClient): void {
  if (baseUrl === client.baseUrl) return;
  throw new UsageError(
    `This clone uses ${baseUrl}, not ${client.baseUrl}. Log in there: lfs-quota login ${baseUrl}\nOr pass TENANT and REPO.`,
  );
}
