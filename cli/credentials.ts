import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { parseJson } from '../lambda/core/rules/text.ts';
import { errorCode, writeDurably } from '../local/system/durable-file.ts';
import type { CliContext } from './context.ts';
import { CliError } from './errors.ts';
import { lockFile } from './file-lock.ts';

/** Who is logged in where: tokens by the server's URL, in a file that only its user can read. */

const loginItem = z.object({
  token: z.string(),
  /** null: the operator, whose token git never gets. */
  tenant: z.string().nullable(),
  /** A server didn't take it from git any more. */
  isRejected: z.boolean().optional(),
});

const fileShape = z.object({
  logins: z.record(z.string(), loginItem).default({}),
  /** Tokens that git gets in place of the login, by URL and user name. `connect` makes them. */
  git: z.record(z.string(), z.record(z.string(), z.string())).default({}),
});

export type Login = z.output<typeof loginItem>;
export type Credentials = z.output<typeof fileShape>;

/** The file, whether or not it exists. undefined: this user has no folder for settings. */
export function fileOf({ env }: Pick<CliContext, 'env'>): string | undefined {
  const own = env['LFS_QUOTA_CONFIG'];
  if (own) return own;
  const folder =
    env['XDG_CONFIG_HOME'] || env['APPDATA'] || (env['HOME'] && path.join(env['HOME'], '.config')) || '';
  return folder === '' ? undefined : path.join(folder, 'lfs-quota', 'credentials.json');
}

/** @throws {CliError} if the file can't be read. */
export function readCredentials(context: Pick<CliContext, 'env'>): Credentials {
  const file = fileOf(context);
  let text = '{}';
  try {
    if (file !== undefined) text = readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw unusable(file, error);
  }
  const parsed = fileShape.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw unusable(file, new Error("it isn't valid JSON of lfs-quota"));
}

const lockTriesMax = 300;
const lockPauseMs = 100;

/**
 * Changes the file, in one step: other processes see it as it was, or as it is. Only its user can read it.
 *
 * @throws {CliError} if it can't be written.
 */
export async function changeCredentials(
  context: Pick<CliContext, 'env' | 'sleep'>,
  change: (credentials: Credentials) => Credentials,
): Promise<void> {
  const file = fileOf(context);
  if (file === undefined) {
    throw new CliError("There's no folder for credentials.", { hint: 'Set HOME or XDG_CONFIG_HOME.' });
  }
  try {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    const release = await lockWhenFree(file, context);
    try {
      await writeDurably(file, `${JSON.stringify(change(readCredentials(context)), null, 2)}\n`);
    } finally {
      await release();
    }
  } catch (error) {
    throw error instanceof CliError ? error : unusable(file, error);
  }
}

/** Git can ask several times at once. */
async function lockWhenFree(file: string, { sleep }: Pick<CliContext, 'sleep'>) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await lockFile(file, 'changes your logins');
    } catch (error) {
      if (!(error instanceof CliError) || tries >= lockTriesMax) throw error;
      await sleep(lockPauseMs);
    }
  }
}

function unusable(file: string | undefined, cause: unknown): CliError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new CliError(`Can't use your credentials file: ${why}.`, {
    hint: `Fix or delete ${file}, then log in again.`,
    cause,
  });
}

/** @param url in the form of `readBaseUrl`. */
export const withLogin = (all: Credentials, url: string, login: Login): Credentials => ({
  ...all,
  logins: { ...all.logins, [url]: login },
});

export function withoutServer({ logins, git }: Credentials, url: string): Credentials {
  const { [url]: _login, ...otherLogins } = logins;
  const { [url]: _git, ...otherGit } = git;
  return { logins: otherLogins, git: otherGit };
}

/** Gives git a token for a user name. null: takes it away. */
export function withGitToken(
  all: Credentials,
  { url, username, token }: { url: string; username: string; token: string | null },
): Credentials {
  const { [username]: _before, ...others } = all.git[url] ?? {};
  const kept = token === null ? others : { ...others, [username]: token };
  return { ...all, git: { ...all.git, [url]: kept } };
}
