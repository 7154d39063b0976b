import { cp, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import type { CliContext } from '../context.ts';
import { fileOf } from '../credentials.ts';
import { CliError } from '../errors.ts';
import { shellWords } from '../render.ts';
import { gitText } from './git.ts';

/** What git is told of a server's credentials, and what it knows of them. */

type User = Pick<CliContext, 'env' | 'folder' | 'self' | 'program'>;

const call = 'auth git-credential';
/** Our lines, of any install: Node and the command line move. Others' calls are the same. git reads it, too. */
const ownLine = `lfs-quota(\\.js)?'? ${call}$`;
const helperOf = (baseUrl: string) => `credential.${baseUrl}.helper`;
/** git-lfs names no path without it, and a helper of a server below a path isn't asked. */
const pathOf = (baseUrl: string) => `credential.${baseUrl}.useHttpPath`;

/** git with the settings of this user, wherever they are. @throws {CliError} */
const gitOf =
  ({ env, folder = '.' }: User) =>
  (...args: string[]) =>
    gitText(folder, args, [], env);

const npxCache = /[\\/]_npx[\\/]/;

/** Who is called later, too: what npx runs is deleted with its cache, so it's copied beside the credentials. @throws {CliError} */
export async function lasting(context: CliContext): Promise<CliContext> {
  const [node, script = ''] = context.self ?? [context.program];
  if (!npxCache.test(script)) return context;
  const copy = path.resolve(fileOf(context) ?? '', '../lfs-quota-npx');
  try {
    const bin = await realpath(script);
    // A folder that npx was given.
    if (!npxCache.test(bin)) return { ...context, self: [node, bin] };
    await rm(copy, { recursive: true, force: true });
    await cp(path.resolve(bin, '../..'), copy, { recursive: true });
    return { ...context, self: [node, path.join(copy, 'bin', path.basename(bin))] };
  } catch (cause) {
    throw new CliError(`Can't copy lfs-quota to ${copy}: ${cause}.`, { hint: 'Install it instead.', cause });
  }
}

/**
 * Makes git ask this command line for the credentials of a server, and no other helper. Its shell, on Windows too, gets a
 * path with spaces in quotes.
 *
 * @param config sets it. Default: for all clones of this user.
 * @throws {CliError} if git isn't there, or its settings can't be written.
 */
export async function setHelper(baseUrl: string, user: User, config = ['config', '--global']): Promise<void> {
  const git = gitOf(user);
  // The empty one ends the list of those that are set elsewhere.
  await git(...config, '--replace-all', helperOf(baseUrl), '');
  const self = shellWords(user.self ?? [user.program]);
  await git(...config, '--add', helperOf(baseUrl), `!${self} ${call}`);
  if (new URL(baseUrl).pathname !== '/') await git(...config, pathOf(baseUrl), 'true');
}

/** Whether git asks this command line about a server, here or everywhere. */
export async function isHelperOf(baseUrl: string, user: User): Promise<boolean> {
  const helpers = await gitOf(user)('config', '--get-all', helperOf(baseUrl)).catch(() => '');
  return new RegExp(ownLine, 'm').test(helpers);
}

/** Takes away what {@link setHelper} has set for all of this user's clones. Other helpers stay. */
export async function unsetHelper(baseUrl: string, user: User): Promise<void> {
  const git = gitOf(user);
  const helpers = await git('config', '--global', '--get-all', helperOf(baseUrl)).catch(() => '');
  const others = helpers.split('\n').filter((line) => !new RegExp(ownLine).test(line));
  if (others.join('\n') === helpers) return;
  // The empty one is of others, if there are any.
  const which = others.join('') === '' ? [] : [ownLine];
  await git('config', '--global', '--unset-all', helperOf(baseUrl), ...which);
  await git('config', '--global', '--unset-all', pathOf(baseUrl)).catch(() => '');
}

/** What is said if git lacks what downloads large files. */
export async function missingLfs(user: User): Promise<string> {
  const git = gitOf(user);
  const isThere = git('lfs', 'version').then(() => git('config', 'filter.lfs.smudge'));
  const missing = "git-lfs isn't set up. Install it, then run git lfs install: https://git-lfs.com\n";
  return (await isThere.catch(() => '')) === '' ? missing : '';
}

/** The token that git has from elsewhere, such as a page. The clone's own helper counts, too. No question is asked. */
export async function tokenOfGit(baseUrl: string, { env, folder = '.' }: User): Promise<string | undefined> {
  const silent = { ...env, GIT_ASKPASS: '', GCM_INTERACTIVE: 'never' };
  const text = await gitText(folder, ['credential', 'fill'], [`url=${baseUrl}`, ''], silent).catch(() => '');
  // Nothing else of this user's leaves.
  return /^password=(lfsq_\w+)$/m.exec(text)?.[1];
}
