import { spawn } from 'node:child_process';
import { CliError } from '../errors.ts';
import { errorCharactersMax, gitSetting, noGit } from './git.ts';

/** What git keeps for an address. */
interface GitCredential {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** Whether some credential helper of git is set for an address: without one nothing can be kept. */
export async function hasCredentialHelper(clone: string, url: string): Promise<boolean> {
  return (await gitSetting(clone, ['--get-urlmatch', 'credential.helper', url])) !== undefined;
}

/**
 * Gives a credential to git's helpers, on standard input: no list of processes shows it.
 *
 * @returns what git said on standard error, such as that there is no such helper.
 * @throws {CliError} if git fails.
 */
export async function keepCredential(
  clone: string,
  { url, username, password }: GitCredential,
): Promise<string> {
  const { said } = await credential(clone, 'approve', [
    `url=${url}`,
    `username=${username}`,
    `password=${password}`,
  ]);
  return said;
}

/**
 * What git's helpers have for an address, without asking anybody. undefined: they have nothing.
 *
 * @param of whose. Without a user name it is what git sends where the configuration has none either.
 */
export async function keptCredential(
  clone: string,
  { url, username }: Pick<GitCredential, 'url'> & Partial<Pick<GitCredential, 'username'>>,
): Promise<GitCredential | undefined> {
  const lines = [`url=${url}`, ...(username === undefined ? [] : [`username=${username}`])];
  const { text } = await credential(clone, 'fill', lines).catch(() => ({ text: '' }));
  const [found, password] = ['username', 'password'].map(
    (key) => new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1],
  );
  return found === undefined || password === undefined ? undefined : { url, username: found, password };
}

async function credential(
  clone: string,
  action: string,
  lines: readonly string[],
): Promise<{ text: string; said: string }> {
  const child = spawn('git', ['-C', clone, '-c', 'core.askPass=', 'credential', action], {
    env: {
      ...process.env,
      GIT_TERMINAL_PROMPT: '0',
      GIT_ASKPASS: '',
      SSH_ASKPASS: '',
      GCM_INTERACTIVE: 'never',
      LC_ALL: 'C',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(`${lines.join('\n')}\n\n`);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    said = (said + piece).slice(-errorCharactersMax);
  });
  let text = '';
  for await (const piece of child.stdout.setEncoding('utf8')) text += piece;
  const code = await ended.catch((error: Error) => {
    throw noGit(error);
  });
  if (code !== 0)
    throw new CliError(`\`git credential ${action}\` failed with exit code ${code}.`, {
      hint: 'See which helper git asks: git config --get-all credential.helper',
    });
  return { text, said: said.trim().split('\n')[0] ?? '' };
}
