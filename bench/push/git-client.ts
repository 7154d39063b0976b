import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gitEnvironment, run } from '../../test/support/process.ts';
import type { PushCase } from './cases.ts';
import { writeRandomFiles } from './random-files.ts';

/** Much longer than any push here takes, on a busy machine too. */
const commandMsMax = 30 * 60_000;

/** What a clone needs to know of a server. */
export interface Remote {
  /** Unique within a run: a client remembers what it pushed to a remote. */
  readonly name: string;
  /** A bare repository, so that git itself needs no server. */
  readonly gitFolder: string;
  readonly lfsUrl: string;
}

/** The real git with git-lfs, in a home of its own. It has the defaults of both, but for what is said here. */
export class GitClient {
  readonly #home: string;
  readonly #env: Record<string, string>;

  private constructor(home: string) {
    this.#home = home;
    this.#env = gitEnvironment(home);
  }

  static async create(home: string): Promise<GitClient> {
    mkdirSync(home);
    const client = new GitClient(home);
    const settings = {
      'user.name': 'Bench',
      'user.email': 'bench@example.invalid',
      'init.defaultBranch': 'main',
      'credential.helper': `store --file=${join(home, 'credentials')}`,
      // What git-lfs itself notes after a first push to a server without locks.
      'lfs.locksverify': 'false',
    };
    for (const [name, value] of Object.entries(settings))
      await client.git(home, 'config', '--global', name, value);
    await client.git(home, 'lfs', 'install', '--skip-repo');
    return client;
  }

  async version(): Promise<string> {
    return (await this.git(this.#home, 'lfs', 'version')).trim();
  }

  /** What the client answers when a server asks who it is. */
  setToken(url: string, token: string): void {
    const { host } = new URL(url);
    writeFileSync(join(this.#home, 'credentials'), `http://any:${token}@${host}\n`);
  }

  /** A repository with one commit of the files of a case. Only the LFS objects are kept of them. */
  async createSource(folder: string, one: PushCase): Promise<void> {
    mkdirSync(folder);
    await this.git(folder, 'init', '--quiet');
    await this.git(folder, 'lfs', 'install', '--local');
    await this.git(folder, 'lfs', 'track', '*.bin');
    await writeRandomFiles(folder, one);
    await this.git(folder, 'add', '--all');
    await this.git(folder, 'commit', '--quiet', '-m', one.name);
    for (const name of readdirSync(folder).filter((each) => each.startsWith('part-')))
      rmSync(join(folder, name), { recursive: true });
  }

  async addRemote(source: string, remote: Remote): Promise<void> {
    mkdirSync(remote.gitFolder, { recursive: true });
    await this.git(remote.gitFolder, 'init', '--quiet', '--bare');
    await this.git(source, 'remote', 'add', remote.name, remote.gitFolder);
    await this.git(source, 'config', 'lfs.url', remote.lfsUrl);
  }

  /** Forgets a server whose round is over, so that the configuration does not grow from round to round. */
  async removeRemote(source: string, { name }: Pick<Remote, 'name'>): Promise<void> {
    await this.git(source, 'remote', 'remove', name);
  }

  async push(source: string, remote: Remote): Promise<void> {
    await this.git(source, 'push', '--quiet', remote.name, 'main');
  }

  /** Offers every object again, as a push of a branch that has them all does. */
  async pushAgain(source: string, remote: Remote): Promise<void> {
    await this.git(source, 'lfs', 'push', '--all', remote.name);
  }

  /** A clone that has no object yet. */
  async clone(remote: Remote, folder: string): Promise<void> {
    const options = ['--quiet', '--config', `lfs.url=${remote.lfsUrl}`];
    await this.git(this.#home, 'clone', ...options, remote.gitFolder, folder);
  }

  async pull(clone: string): Promise<void> {
    await this.git(clone, 'lfs', 'pull');
  }

  /** @throws {Error} if git fails. */
  async git(cwd: string, ...args: string[]): Promise<string> {
    // A checkout leaves the pointers; only `git lfs pull` fetches.
    const env = { ...this.#env, GIT_LFS_SKIP_SMUDGE: args[0] === 'clone' ? '1' : '0' };
    const { code, out, err } = await run('git', args, { cwd, env, timeoutMs: commandMsMax });
    if (code !== 0) throw new Error(`git ${args.join(' ')} exited ${code}:\n${err.slice(-2000)}`);
    return out;
  }
}

/** Where a clone keeps the bytes that it pushes. */
export function lfsObjectsOf(source: string): string {
  return join(source, '.git', 'lfs', 'objects');
}

/** @throws {Error} unless a work tree has all files of a case, whole. git-lfs itself compares their hashes. */
export function checkPulled(clone: string, one: PushCase): void {
  const files = readdirSync(clone, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /^part-\d+\/.+\.bin$/.test(name),
  );
  const whole = files.filter((name) => statSync(join(clone, name)).size === one.fileBytes);
  if (whole.length !== one.files)
    throw new Error(`${whole.length} of ${one.files} files were pulled, the others are missing or pointers.`);
}
