import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { GitUser } from '../support/git-user.ts';
import { type Ended, gitEnvironment, run } from '../support/process.ts';

/** The longest that a client may take on a busy machine. One that sends the same again and again takes longer. */
const clientTimeoutMs = 180_000;
const mediaType = 'application/vnd.git-lfs+json';

/** Where .ci/clients.sh put the clients. undefined: it didn't. */
export const installed = z
  .object({
    CLIENTS_JARS: z.string().min(1),
    CLIENTS_PYTHON: z.string().min(1),
    CLIENTS_MODULES: z.string().min(1),
  })
  .safeParse(process.env).data;

/** The repo and the login that a client uses. */
export interface Account {
  /** Its home has the login for what asks git. */
  readonly user: GitUser;
  /** Ends in `.git`. */
  readonly repoUrl: string;
  readonly token: string;
}

export async function createAccount(url: string, tenant: string, token: string): Promise<Account> {
  return { user: await GitUser.create({ url, token }), repoUrl: `${url}/${tenant}/game.git`, token };
}

export interface Client {
  readonly name: string;
  /**
   * Pushes what is in a folder, which has a `.gitattributes` and is no repository yet.
   * @param remote an empty repository of git.
   */
  push?(account: Account, folder: string, remote: string): Promise<Ended>;
  /**
   * Downloads the files whose pointers are in a folder.
   * @param repository the folder, a work tree of git.
   * @param folder an empty one.
   */
  pull?(account: Account, repository: string, folder: string): Promise<Ended>;
  /** What it says if the token is wrong. Left out: it sends none. */
  readonly refused?: RegExp;
  /** It takes an object that the server refuses for one that is stored, so its push over the limit succeeds. */
  readonly overlooksRefusals?: true;
}

function started(account: Account, command: string, args: readonly string[]): Promise<Ended> {
  const env = {
    ...gitEnvironment(account.user.home),
    // Java takes the names of files for what the locale can write.
    LC_ALL: 'C.UTF-8',
    CLIENTS_MODULES: installed?.CLIENTS_MODULES ?? '',
    LFS_REPO_URL: account.repoUrl,
    LFS_TOKEN: account.token,
    // They call git, which must not call git-lfs.
    GIT_LFS_SKIP_SMUDGE: '1',
    PYTHONDONTWRITEBYTECODE: '1',
    HF_HUB_DISABLE_XET: '1',
    HF_HUB_DISABLE_TELEMETRY: '1',
    HF_HUB_DISABLE_PROGRESS_BARS: '1',
  };
  return run(command, args, { cwd: account.user.home, env, timeoutMs: clientTimeoutMs });
}

let classes: string | undefined;

/** Compiles Clients.java. */
export async function compileJava(): Promise<void> {
  classes = await mkdtemp(join(tmpdir(), 'lfs-quota-clients-'));
  const source = join(import.meta.dirname, 'Clients.java');
  await promisify(execFile)('javac', ['-d', classes, '-cp', `${installed?.CLIENTS_JARS}/*`, source]);
}

export async function removeClasses(): Promise<void> {
  if (classes !== undefined) await rm(classes, { recursive: true });
}

export function java(account: Account, ...args: string[]): Promise<Ended> {
  const quick = ['-XX:TieredStopAtLevel=1', '-cp', `${classes}:${installed?.CLIENTS_JARS}/*`, 'Clients'];
  return started(account, 'java', [...quick, ...args]);
}

function python(account: Account, ...args: string[]): Promise<Ended> {
  const program = join(import.meta.dirname, 'clients.py');
  return started(account, installed?.CLIENTS_PYTHON ?? '', [program, ...args]);
}

function javascript(account: Account, ...args: string[]): Promise<Ended> {
  return started(account, process.execPath, [join(import.meta.dirname, 'isogit.mjs'), ...args]);
}

async function pushByGitLfs(account: Account, folder: string, remote: string): Promise<Ended> {
  const { user, repoUrl } = account;
  await user.git(folder, 'init', '--quiet');
  await user.git(folder, 'config', 'lfs.url', `${repoUrl}/info/lfs`);
  await user.git(folder, 'remote', 'add', 'origin', remote);
  await user.commitAll(folder, 'Files');
  return user.tryGit(folder, ['push', 'origin', 'main']);
}

async function pullByGitLfs(account: Account, repository: string, folder: string): Promise<Ended> {
  const { user, repoUrl } = account;
  return user.tryGit(folder, ['-c', `lfs.url=${repoUrl}/info/lfs`, 'clone', '--quiet', repository, '.']);
}

const batchAnswer = z.object({
  objects: z.array(z.object({ actions: z.object({ download: z.object({ href: z.string() }) }) })),
});

/**
 * Downloads by programs that know nothing of LFS.
 * @param batch sends a request of the LFS API.
 * @param get fetches what an answer names, and continues a file that is there in part.
 */
function pullBy(
  batch: (account: Account, url: string, body: string) => Promise<Ended>,
  get: (account: Account, url: string, target: { folder: string; name: string }) => Promise<Ended>,
): Required<Client>['pull'] {
  return async (account, repository, folder) => {
    const names = await binariesIn(repository);
    const objects = await Promise.all(names.map((name) => pointerIn(join(repository, name))));
    const body = JSON.stringify({ operation: 'download', transfers: ['basic'], objects });
    const answered = await batch(account, `${account.repoUrl}/info/lfs/objects/batch`, body);
    if (answered.code !== 0) return answered;
    const answer = batchAnswer.parse(JSON.parse(answered.out));
    for (const [index, name] of names.entries()) {
      const { href = '' } = answer.objects[index]?.actions.download ?? {};
      const got = await get(account, href, { folder, name });
      if (got.code !== 0) return got;
    }
    return answered;
  };
}

async function binariesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.bin')).sort();
}

async function pointerIn(file: string): Promise<{ oid: string | undefined; size: number }> {
  const [, oid, size] = /^oid sha256:(\w+)\nsize (\d+)$/m.exec(await readFile(file, 'utf8')) ?? [];
  return { oid, size: Number(size) };
}

const headers = [`Accept: ${mediaType}`, `Content-Type: ${mediaType}`];

/** It sends the login only when it's asked for one. */
function batchByCurl(account: Account, url: string, body: string): Promise<Ended> {
  const asked = [
    '--anyauth',
    '--user',
    `anyone:${account.token}`,
    ...headers.flatMap((each) => ['-H', each]),
  ];
  return started(account, 'curl', ['-sS', '--fail-with-body', ...asked, '--data-binary', body, url]);
}

/** It can only send the login when it's asked for one. */
function batchByWget(account: Account, url: string, body: string): Promise<Ended> {
  const asked = [
    '--user=anyone',
    `--password=${account.token}`,
    ...headers.map((each) => `--header=${each}`),
  ];
  return started(account, 'wget', ['-nv', ...asked, `--post-data=${body}`, '-O', '-', url]);
}

export const clients: readonly Client[] = [
  { name: 'git-lfs', push: pushByGitLfs, pull: pullByGitLfs, refused: /Git credentials for .* not found/ },
  {
    name: 'JGit',
    push: (account, folder, remote) => java(account, 'jgit', 'push', folder, remote),
    pull: (account, repository, folder) => java(account, 'jgit', 'pull', repository, folder),
    refused: /responded with an error code\. rc=403/,
    overlooksRefusals: true,
  },
  {
    name: 'gitlfs-client',
    push: (account, folder, remote) => java(account, 'gitlfs', 'push', folder, remote),
    pull: (account, repository, folder) => java(account, 'gitlfs', 'pull', repository, folder),
    refused: /403 \(Forbidden\)/,
  },
  {
    name: 'dulwich',
    push: (account, folder, remote) => python(account, 'dulwich', 'push', folder, remote),
    pull: (account, repository, folder) => python(account, 'dulwich', 'pull', repository, folder),
    refused: /HTTP 401: .*Access token invalid/,
  },
  {
    name: 'scmrepo',
    pull: (account, repository, folder) => python(account, 'scmrepo', 'pull', repository, folder),
    refused: /401, message='Unauthorized'/,
  },
  {
    name: 'isogit-lfs',
    push: (account, folder, remote) => javascript(account, 'push', folder, remote),
    pull: (account, repository, folder) => javascript(account, 'pull', repository, folder),
    refused: /Unexpected JSON structure/,
    overlooksRefusals: true,
  },
  {
    name: 'curl',
    pull: pullBy(batchByCurl, (account, url, { folder, name }) =>
      started(account, 'curl', ['-sS', '--fail', '--continue-at', '-', '-o', join(folder, name), url]),
    ),
    refused: /Access token invalid.*\n?.*error: 401/,
  },
  {
    name: 'wget',
    pull: pullBy(batchByWget, (account, url, { folder, name }) =>
      started(account, 'wget', ['-nv', '--continue', '-O', join(folder, name), url]),
    ),
    refused: /Username\/Password Authentication Failed/,
  },
  {
    // It asks for the pieces of a file at once.
    name: 'aria2',
    pull: pullBy(batchByCurl, (account, url, { folder, name }) =>
      started(account, 'aria2c', ['--no-conf', '-q', '-x4', '-s4', '-k1M', '-d', folder, '-o', name, url]),
    ),
  },
];

/** It forgets the headers of an upload, so it can't push. It says what's refused, and finds what is stored. */
export const huggingFace: Client = {
  name: 'huggingface_hub',
  push: (account, folder, remote) => python(account, 'huggingface', 'push', folder, remote),
  refused: /Client error '401 Unauthorized'/,
};
