import type { CliContext } from '../context.ts';
import { shellWords } from '../render.ts';
import { gitText } from './git.ts';

/** What git is told of a server's credentials, and what it knows of them. */

type User = Pick<CliContext, 'env' | 'folder' | 'self' | 'program'>;

const call = 'auth git-credential';
const helperOf = (baseUrl: string) => `credential.${baseUrl}.helper`;

/** git with the settings of this user, wherever they are. @throws {CliError} */
const gitOf =
  ({ env, folder = '.' }: User) =>
  (...args: string[]) =>
    gitText(folder, args, [], env);

/**
 * Makes git ask this command line for the credentials of a server, and no other helper. Its shell, on Windows too, gets a
 * path with spaces in quotes.
 *
 * @param clone the one that it's for. Without it: all of this user.
 * @throws {CliError} if git isn't there, or its settings can't be written.
 */
export async function setHelper(baseUrl: string, user: User, clone?: string): Promise<void> {
  const place = clone === undefined ? ['config', '--global'] : ['config'];
  const git = gitOf(clone === undefined ? user : { ...user, folder: clone });
  // The empty one ends the list of those that are set elsewhere.
  await git(...place, '--replace-all', helperOf(baseUrl), '');
  const self = shellWords(user.self ?? [user.program]);
  await git(...place, '--add', helperOf(baseUrl), `!${self} ${call}`);
  // git-lfs says the path of a server only then, and git finds a helper by it.
  if (new URL(baseUrl).pathname !== '/')
    await git(...place, '--replace-all', `credential.${baseUrl}.useHttpPath`, 'true');
}

/** Takes away what {@link setHelper} has set for all of this user's clones. Another helper stays. */
export async function unsetHelper(baseUrl: string, user: User): Promise<void> {
  const git = gitOf(user);
  const unset = (name: string) => git('config', '--global', '--unset-all', name).catch(() => undefined);
  const helpers = await git('config', '--global', '--get-all', helperOf(baseUrl)).catch(() => '');
  if (!helpers.endsWith(call)) return;
  await unset(helperOf(baseUrl));
  await unset(`credential.${baseUrl}.useHttpPath`);
}

/** What is missing for git to download large files when it clones. undefined: nothing. */
export async function missingLfs(user: User): Promise<string | undefined> {
  const git = gitOf(user);
  const [version, filter] = await Promise.allSettled([
    git('lfs', 'version'),
    git('config', 'filter.lfs.smudge'),
  ]);
  if (version.status === 'rejected')
    return "git-lfs isn't installed. Install it, then run git lfs install: https://git-lfs.com\n";
  return filter.status === 'rejected' ? 'Run this once: git lfs install\n' : undefined;
}

/** The token of a server that git has from elsewhere, such as a page. No question is asked. undefined: it has none. */
export async function tokenOfGit(baseUrl: string, { env, folder = '.' }: User): Promise<string | undefined> {
  const silent = { ...env, GIT_ASKPASS: '', GCM_INTERACTIVE: 'never' };
  const text = await gitText(folder, ['credential', 'fill'], [`url=${baseUrl}`, ''], silent).catch(() => '');
  // Nothing else of this user's leaves.
  return /^password=(lfsq_\w+)$/m.exec(text)?.[1];
}
