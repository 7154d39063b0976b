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
 * @param config sets it. Default: for all clones of this user.
 * @throws {CliError} if git isn't there, or its settings can't be written.
 */
export async function setHelper(baseUrl: string, user: User, config = ['config', '--global']): Promise<void> {
  const git = gitOf(user);
  // The empty one ends the list of those that are set elsewhere.
  await git(...config, '--replace-all', helperOf(baseUrl), '');
  const self = shellWords(user.self ?? [user.program]);
  await git(...config, '--add', helperOf(baseUrl), `!${self} ${call}`);
}

/** Takes away what {@link setHelper} has set for all of this user's clones. Another helper stays. */
export async function unsetHelper(baseUrl: string, user: User): Promise<void> {
  const git = gitOf(user);
  const helpers = await git('config', '--global', '--get-all', helperOf(baseUrl)).catch(() => '');
  if (helpers.endsWith(call)) await git('config', '--global', '--unset-all', helperOf(baseUrl));
}

/** What is said if git lacks what downloads large files. */
export async function missingLfs(user: User): Promise<string> {
  const git = gitOf(user);
  const isThere = git('lfs', 'version').then(() => git('config', 'filter.lfs.smudge'));
  const missing = "git-lfs isn't set up. Install it, then run git lfs install: https://git-lfs.com\n";
  return (await isThere.catch(() => '')) === '' ? missing : '';
}

/** The token of a server that git has from elsewhere, such as a page. No question is asked. undefined: it has none. */
export async function tokenOfGit(baseUrl: string, { env, folder = '.' }: User): Promise<string | undefined> {
  const silent = { ...env, GIT_ASKPASS: '', GCM_INTERACTIVE: 'never' };
  const text = await gitText(folder, ['credential', 'fill'], [`url=${baseUrl}`, ''], silent).catch(() => '');
  // Nothing else of this user's leaves.
  return /^password=(lfsq_\w+)$/m.exec(text)?.[1];
}
