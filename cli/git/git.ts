import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { isTenantName, repoNamed } from '../../lambda/rules/names.ts';
import { CliError } from '../errors.ts';

/** More of what git says on standard error is not kept. */
const errorCharactersMax = 4_096;

/** A git command that runs in a clone. */
interface GitProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Settles when it has ended. @throws {CliError} if it failed. */
  readonly ended: Promise<void>;
  /** Ends it, if it has not. */
  readonly stop: () => void;
}

/**
 * Starts git in a clone. Objects that replace others are not looked through: what the server has counts.
 *
 * @param clone its folder.
 */
export function startGit(clone: string, args: readonly string[]): GitProcess {
  const child = spawn('git', ['-C', clone, '-c', 'core.quotePath=false', ...args], {
    env: { ...process.env, GIT_NO_REPLACE_OBJECTS: '1', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-errorCharactersMax);
  });
  // It may end before it has read everything, and then says why.
  child.stdin.on('error', () => undefined);
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', (error) => reject(noGit(error)));
    child.once('close', (code) => {
      const why = said.trim().split('\n').at(-1) ?? '';
      if (code === 0) resolve();
      else
        reject(
          new CliError(`\`git ${args.join(' ')}\` in ${clone} failed: ${why || `exit code ${code}`}`, {
            hint: 'Fix the problem that Git reports, or pass another clone with --clone.',
          }),
        );
    });
  });
  // Whoever reads its output hears of it there first.
  ended.catch(() => undefined);
  return { stdin: child.stdin, stdout: child.stdout, ended, stop: () => void child.kill() };
}

const noGit = (cause: Error) =>
  new CliError(`Can't run git: ${cause.message}.`, {
    hint: 'Install git, and check: git --version',
    cause,
  });

/** What a git command prints, without the end of its last line. @throws {CliError} */
export async function gitText(clone: string, args: readonly string[]): Promise<string> {
  const git = startGit(clone, args);
  git.stdin.end();
  let text = '';
  for await (const piece of git.stdout.setEncoding('utf8')) text += piece;
  await git.ended;
  return text.replace(/\n$/, '');
}

/**
 * A setting of a clone. undefined: it is not set, or is empty.
 *
 * @param which what `git config` is to look up, such as `--get NAME`, and where.
 */
export async function gitSetting(clone: string, which: readonly string[]): Promise<string | undefined> {
  // git fails if it is not set.
  const value = await gitText(clone, ['config', ...which]).catch(() => '');
  return value === '' ? undefined : value;
}

/** The lines that a git command prints, as they come. @throws {CliError} */
export async function* gitLines(git: GitProcess): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of git.stdout.setEncoding('utf8')) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
  await git.ended;
}

/** Writes lines to a git command, and ends its input. */
export async function writeLines(
  { stdin }: Pick<GitProcess, 'stdin'>,
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<void> {
  let waiting: string[] = [];
  for await (const line of lines) {
    waiting.push(line);
    if (waiting.length < linesAtOnce) continue;
    await write(stdin, waiting);
    waiting = [];
  }
  await write(stdin, waiting);
  stdin.end();
}

const linesAtOnce = 1_000;

function write(stdin: Writable, lines: readonly string[]): Promise<void> {
  if (lines.length === 0 || stdin.destroyed) return Promise.resolve();
  return new Promise((resolve) => stdin.write(`${lines.join('\n')}\n`, () => resolve()));
}

/** git-lfs takes no larger file for a pointer. */
const pointerBytesMax = 1024;
const newline = 0x0a;

/** Whether a file of this many bytes may be a pointer. */
export function isPointerSize(bytes: number): boolean {
  return bytes < pointerBytesMax;
}

/** The oids of all lines `oid sha256:…` of a file. */
export function oidsIn(content: Buffer): string[] {
  const lines = content.toString('latin1').matchAll(/^oid sha256:([0-9a-f]{64})\r?$/gm);
  return [...lines].map(([, oid = '']) => oid);
}

/** An object of git, as `cat-file --batch` prints it. */
interface Blob {
  /** The name of the object, and whatever else the format of the line has. */
  readonly line: string;
  readonly content: Buffer;
}

/**
 * What `cat-file --batch` prints: for each object a line, its bytes, and the end of a line. The line must be
 * `%(objectname) %(objecttype) %(objectsize)`, which is what git prints by itself, and may have more after that.
 *
 * @throws {CliError} if the clone lacks an object.
 */
export async function* blobsOf(git: GitProcess, clone: string): AsyncGenerator<Blob> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of git.stdout as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let at = 0;
    for (;;) {
      const end = rest.indexOf(newline, at);
      if (end < 0) break;
      const line = rest.subarray(at, end).toString('utf8');
      const [object = '', type, size] = line.split(' ', 3);
      if (type === 'missing') throw incompleteClone(clone, object);
      const last = end + 1 + Number(size);
      if (last >= rest.length) break;
      yield { line, content: rest.subarray(end + 1, last) };
      at = last + 1;
    }
    rest = rest.subarray(at);
  }
  await git.ended;
  if (rest.length > 0)
    throw new CliError(`git stopped before it printed all objects of ${clone}.`, {
      hint: `Check it: git -C ${clone} fsck`,
    });
}

/** A clone that has not all of its objects. */
export function incompleteClone(clone: string, object: string): CliError {
  return new CliError(`The clone ${clone} lacks the object ${object}.`, {
    hint: 'Create another one: git clone --mirror URL',
  });
}

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
  const hint = 'Pass --url, --tenant and --repo, or run: lfs-quota connect TENANT REPO';
  if (url === undefined) throw new CliError(`The clone ${clone} has no lfs.url.`, { hint });
  const address = readLfsAddress(url);
  if (!address)
    throw new CliError(`The lfs.url of the clone ${clone} isn't a repo of this server.`, { hint });
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
