import { existsSync } from 'node:fs';
import path from 'node:path';
import { isTenantName, repoNamed } from '../../lambda/rules/names.ts';
import { CliError } from '../errors.ts';
import { gitSetting, gitText } from './git.ts';

/** Where git-lfs sends the objects of a clone. */
export interface LfsAddress {
  /** The address of the service, without a slash at its end. */
  readonly baseUrl: string;
  readonly tenant: string;
  readonly repo: string;
}

/**
 * The service, tenant and repo of an `lfs.url`: `{base}/{tenant}/{repo}`, with or without `.git` and `/info/lfs`, as
 * git-lfs adds them itself. undefined: it is no such address.
 */
export function readLfsAddress(text: string): LfsAddress | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  const parts = url.pathname
    .replace(/\/+$/, '')
    .replace(/\/info\/lfs$/, '')
    .split('/');
  const repo = repoNamed(parts.pop() ?? '');
  const tenant = parts.pop() ?? '';
  if (!isTenantName(tenant) || repo === undefined) return undefined;
  return { baseUrl: (url.origin + parts.join('/')).replace(/\/+$/, ''), tenant, repo };
}

/**
 * Where git-lfs sends the objects of a clone: its own `lfs.url`, or that of `.lfsconfig` in its folder, or in its HEAD if
 * it has no files.
 *
 * @throws {CliError} if it has none, or another server's.
 */
export async function lfsAddressOf(clone: string): Promise<LfsAddress> {
  const url =
    (await ownLfsUrl(clone)) ??
    (await gitSetting(clone, [...(await lfsConfigOf(clone)), '--get', 'lfs.url']));
  const hint = 'Name them: --url, --tenant and --repo. Or connect it with `lfs-quota connect`.';
  if (url === undefined) throw new CliError(`The clone ${clone} has no lfs.url.`, { hint });
  const address = readLfsAddress(url);
  if (!address)
    throw new CliError(`The lfs.url of the clone ${clone} is not the address of a repo here.`, { hint });
  return address;
}

/** The `lfs.url` of a clone's own configuration, which beats that of `.lfsconfig`. */
export function ownLfsUrl(clone: string): Promise<string | undefined> {
  return gitSetting(clone, ['--get', 'lfs.url']);
}

async function lfsConfigOf(clone: string): Promise<string[]> {
  const isBare = (await gitText(clone, ['rev-parse', '--is-bare-repository'])) === 'true';
  if (isBare) return ['--blob', 'HEAD:.lfsconfig'];
  const top = await gitText(clone, ['rev-parse', '--show-toplevel']);
  const file = path.join(top, '.lfsconfig');
  return existsSync(file) ? ['--file', file] : ['--blob', 'HEAD:.lfsconfig'];
}
