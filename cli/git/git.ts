import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { isTenantName, repoNamed } from '../../lambda/core/rules/names.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';

/** More of what git says on standard error is not kept. */
const errorCharactersMax = 4_096;

type Env = CliContext['env'];

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
 * @param env of the user whose git it is.
 */
function startGit(clone: string, args: readonly string[], env: Env = process.env): GitProcess {
  const child = spawn('git', ['-C', clone, '-c', 'core.quotePath=false', ...args], {
    env: { ...env, GIT_NO_REPLACE_OBJECTS: '1', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' },
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
      else if (/^fatal: (not a git repository|cannot change to)/m.test(said))
        reject(
          new CliError(`${path.resolve(clone)} isn't a clone.`, {
            hint: 'Run it in a clone of the repo, or pass one with --clone.',
          }),
        );
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

/** What a git command prints, without the end of its last line. @param input lines that it reads. @throws {CliError} */
export async function gitText(
  clone: string,
  args: readonly string[],
  input: readonly string[] = [],
  env?: Env,
): Promise<string> {
  const git = startGit(clone, args, env);
  await writeLines(git, input);
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
async function* gitLines(git: GitProcess): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of git.stdout.setEncoding('utf8')) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
  await git.ended;
}

/** What a git command prints for lines, as it comes. @throws {CliError} */
export async function* gitAnswers(
  clone: string,
  args: readonly string[],
  lines: Iterable<string>,
): AsyncGenerator<string> {
  const git = startGit(clone, args);
  // Both at a time: a pipe holds little.
  const writing = writeLines(git, lines);
  yield* gitLines(git);
  await writing;
}

/** Writes lines to a git command, and ends its input. */
async function writeLines(
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

/** All lines `oid sha256:…` of a file, each with the size in the line after it. */
function pointersIn(content: Buffer): { oid: string; sizeBytes: number | undefined }[] {
  const lines = content
    .toString('latin1')
    .matchAll(/^oid sha256:([0-9a-f]{64})\r?$(?:\nsize (\d{1,16})\r?$)?/gm);
  return [...lines].map(([, oid = '', size]) => ({
    oid,
    sizeBytes: size === undefined ? undefined : Number(size),
  }));
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
async function* blobsOf(git: GitProcess, clone: string): AsyncGenerator<Blob> {
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

/** Objects of git between two calls of `onProgress`. */
const progressEvery = 10_000;

interface PointerScan {
  /** What `git rev-list --objects` is to list besides its standard input. */
  readonly list: readonly string[];
  /** Its standard input. */
  readonly commits?: Iterable<string>;
  /** Called with each oid, the git object that names it, a path of that, and the size that it says, if it does. */
  readonly onPointer: (
    oid: string,
    blob: { readonly object: string; readonly path: string; readonly sizeBytes: number | undefined },
  ) => void;
  /** Called now and then, with the number of objects of git so far. */
  readonly onProgress?: ((objectCount: number) => void) | undefined;
}

/**
 * Finds the files of a clone that may be pointers of git-lfs: of less than 1,024 bytes, with a line `oid sha256:`.
 *
 * @returns how many objects of git were looked at. @throws {CliError} if something is missing in the clone.
 */
export async function scanPointers(clone: string, scan: PointerScan): Promise<number> {
  const { list: args, commits = [], onPointer, onProgress } = scan;
  const format = '%(objectname) %(objecttype) %(objectsize) %(rest)';
  const list = startGit(clone, ['rev-list', '--objects', ...args, '--stdin']);
  const check = startGit(clone, ['cat-file', '--buffer', `--batch-check=${format}`]);
  const read = startGit(clone, ['cat-file', '--buffer', `--batch=${format}`]);
  let objectCount = 0;
  async function* small() {
    for await (const line of gitLines(check)) {
      const [object = '', type, size] = line.split(' ', 3);
      if (type === 'missing') throw incompleteClone(clone, object);
      objectCount += 1;
      if (objectCount % progressEvery === 0) onProgress?.(objectCount);
      if (type === 'blob' && Number(size) < pointerBytesMax) yield `${object} ${pathIn(line)}`;
    }
  }
  const collect = async () => {
    for await (const { line, content } of blobsOf(read, clone)) {
      const [object = ''] = line.split(' ', 1);
      for (const { oid, sizeBytes } of pointersIn(content))
        onPointer(oid, { object, path: pathIn(line), sizeBytes });
    }
  };
  try {
    await Promise.all([
      writeLines(list, commits),
      writeLines(check, gitLines(list)),
      writeLines(read, small()),
      collect(),
    ]);
  } finally {
    // After a failure the others would wait for ever.
    for (const git of [list, check, read]) git.stop();
  }
  return objectCount;
}

/** What follows name, type and size on a line of `cat-file`. A path may have spaces itself. */
const pathIn = (line: string) => /^(?:\S* ){3}(.*)$/s.exec(line)?.[1] ?? '';

/** A clone that has not all of its objects. */
function incompleteClone(clone: string, object: string): CliError {
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
