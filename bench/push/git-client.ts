import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gitEnvironment, run } from '../../test/support/process.ts';

/** What is pushed: a number of files of one size, filled with random bytes, which nothing can compress. */
export interface PushCase {
  readonly files: number;
  readonly fileBytes: number;
}

/** What a clone needs to know of a server. */
export interface Remote {
  /** Unique within a run: a client remembers what it pushed to a remote. */
  readonly name: string;
  /** A bare repository, so that git itself needs no server. */
  readonly gitFolder: string;
  readonly lfsUrl: string;
}

/** Much longer than any push here takes, on a busy machine too. */
const commandMsMax = 30 * 60_000;

/** The real git with git-lfs, in a home of its own. It has the defaults of both, except for the settings below. */
export class GitClient {
  readonly #home: string;

  private constructor(home: string) {
    this.#home = home;
  }

  static async create(home: string): Promise<GitClient> {
    mkdirSync(home);
    const client = new GitClient(home);
    const settings = {
      'user.name': 'Bench',
      'user.email': 'bench@example.invalid',
      'init.defaultBranch': 'main',
      'credential.helper': `store --file=${join(home, 'credentials')}`,
      // git-lfs itself notes this after a first push to a server without locks.
      'lfs.locksverify': 'false',
    };
    for (const [name, value] of Object.entries(settings))
      await client.git(home, 'config', '--global', name, value);
    await client.git(home, 'lfs', 'install', '--skip-repo');
    return client;
  }

  /** The credentials that the client sends when a server asks for some. */
  setToken(url: string, token: string): void {
    const { host } = new URL(url);
    writeFileSync(join(this.#home, 'credentials'), `http://any:${token}@${host}\n`);
  }

  /** A repository with one commit of the files of a case. Only the LFS objects are kept of them. */
  async createSource(folder: string, { files, fileBytes }: PushCase): Promise<void> {
    mkdirSync(folder);
    await this.git(folder, 'init', '--quiet');
    await this.git(folder, 'lfs', 'install', '--local');
    await this.git(folder, 'lfs', 'track', '*.bin');
    for (let index = 0; index < files; index += 1)
      writeFileSync(join(folder, `file-${index}.bin`), randomBytes(fileBytes));
    await this.git(folder, 'add', '--all');
    await this.git(folder, 'commit', '--quiet', '-m', `${files} files`);
    for (const name of binariesIn(folder)) rmSync(join(folder, name));
  }

  async addRemote(source: string, remote: Remote): Promise<void> {
    mkdirSync(remote.gitFolder);
    await this.git(remote.gitFolder, 'init', '--quiet', '--bare');
    await this.git(source, 'remote', 'add', remote.name, remote.gitFolder);
    await this.git(source, 'config', 'lfs.url', remote.lfsUrl);
  }

  /** A clone that has no object yet. */
  async clone(remote: Remote, folder: string): Promise<void> {
    const options = ['--quiet', '--config', `lfs.url=${remote.lfsUrl}`];
    await this.git(this.#home, 'clone', ...options, remote.gitFolder, folder);
  }

  /** @throws {Error} if git fails. */
  async git(cwd: string, ...args: string[]): Promise<string> {
    // A checkout leaves the pointers; only `git lfs pull` fetches.
    const env = { ...gitEnvironment(this.#home), GIT_LFS_SKIP_SMUDGE: args[0] === 'clone' ? '1' : '0' };
    const { code, out, err } = await run('git', args, { cwd, env, timeoutMs: commandMsMax });
    if (code !== 0) throw new Error(`git ${args.join(' ')} exited ${code}:\n${err.slice(0, 500)}`);
    return out;
  }
}

const binariesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.bin'));

/** @throws {Error} unless a work tree has all files of a case, whole. git-lfs itself compares their hashes. */
export function checkPulled(clone: string, { files, fileBytes }: PushCase): void {
  const whole = binariesIn(clone).filter((name) => statSync(join(clone, name)).size === fileBytes);
  if (whole.length !== files)
    throw new Error(`${whole.length} of ${files} files were pulled, the others are missing or pointers.`);
}
