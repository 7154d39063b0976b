import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Files, writeFiles } from './payload.ts';
import { type Ended, gitEnvironment, run } from './process.ts';

/** The longest that one git command of a test may take. */
const gitTimeoutMs = 120_000;

/**
 * A person with git and git-lfs, with a separate home, configuration and credentials. Nobody answers git's questions.
 */
export class GitUser {
  static readonly #all = new Set<GitUser>();
  readonly home: string;
  readonly #env: Record<string, string>;
  readonly #timeoutMs: number;

  private constructor(home: string, timeoutMs: number) {
    this.home = home;
    this.#timeoutMs = timeoutMs;
    this.#env = gitEnvironment(home);
  }

  /**
   * @param access the token that the credential helper returns for a URL. Without it there is no helper.
   * @param timeoutMs the longest that one command may take.
   */
  static async create(access?: { url: string; token: string }, timeoutMs = gitTimeoutMs): Promise<GitUser> {
    const home = await mkdtemp(join(tmpdir(), 'lfs-quota-e2e-home-'));
    const user = new GitUser(home, timeoutMs);
    GitUser.#all.add(user);
    await user.git(home, 'config', '--global', 'user.name', 'E2E');
    await user.git(home, 'config', '--global', 'user.email', 'e2e@example.invalid');
    await user.git(home, 'config', '--global', 'init.defaultBranch', 'main');
    await user.git(home, 'lfs', 'install', '--skip-repo');
    if (access === undefined) return user;
    await user.git(home, 'config', '--global', 'credential.helper', `store --file=${home}/credentials`);
    await user.setToken(access);
    return user;
  }

  async setToken({ url, token }: { url: string; token: string }): Promise<void> {
    const withToken = new URL(url);
    withToken.username = 'anyone';
    withToken.password = token;
    await writeFile(join(this.home, 'credentials'), `${withToken.href.replace(/\/$/, '')}\n`);
  }

  /** A bare repository to push to. Its LFS objects go to lfs-quota. */
  async createRemote(name: string): Promise<string> {
    const path = join(this.home, 'remotes', `${name}.git`);
    await mkdir(path, { recursive: true });
    await this.git(path, 'init', '--bare', '--quiet');
    return path;
  }

  /** A work tree whose `*.bin` files are LFS objects, stored at `lfsUrl` if it is given. */
  async createWorkTree(name: string, place: { remote: string; lfsUrl?: string }): Promise<string> {
    const path = join(this.home, name);
    await mkdir(path, { recursive: true });
    await this.git(path, 'init', '--quiet');
    await this.git(path, 'remote', 'add', 'origin', place.remote);
    if (place.lfsUrl !== undefined) {
      await this.git(path, 'config', '-f', '.lfsconfig', 'lfs.url', place.lfsUrl);
    }
    await this.git(path, 'lfs', 'track', '*.bin');
    return path;
  }

  /** Runs git. @throws if git fails. */
  async git(cwd: string, ...args: string[]): Promise<Ended> {
    const ended = await this.tryGit(cwd, args);
    if (ended.code !== 0) throw new Error(`git ${args.join(' ')} exited ${ended.code}:\n${ended.err}`);
    return ended;
  }

  /** Runs git, and leaves it to the caller to look at the exit code. */
  async tryGit(cwd: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
    return run('git', args, { cwd, env: { ...this.#env, ...env }, timeoutMs: this.#timeoutMs });
  }

  /** Runs lines as if the person had pasted them into a shell. */
  async paste(cwd: string, lines: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
    const script = ['set -e', ...lines].join('\n');
    return run('sh', ['-c', script], { cwd, env: { ...this.#env, ...env }, timeoutMs: this.#timeoutMs });
  }

  async commitAll(cwd: string, message: string): Promise<void> {
    await this.git(cwd, 'add', '--all');
    await this.git(cwd, 'commit', '--quiet', '-m', message);
  }

  /** Ends all that there are. */
  static async closeAll(): Promise<void> {
    for (const user of GitUser.#all) await user.close();
  }

  /** Writes files into a work tree and commits all. */
  async commitFiles(cwd: string, files: Files, message: string): Promise<void> {
    await writeFiles(cwd, files);
    await this.commitAll(cwd, message);
  }

  /** Deletes the home and everything in it. */
  async close(): Promise<void> {
    GitUser.#all.delete(this);
    await rm(this.home, { recursive: true, force: true });
  }
}
