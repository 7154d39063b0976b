import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Call, ChildApi, Reply } from './serve.ts';

/** A child process ended before it answered, for example because it had too little memory. */
class ChildEndedError extends Error {
  override readonly name = 'ChildEndedError';
}

/** The parent's side of a child process that calls `serve`. */
export class Child<Api extends ChildApi, Ready = undefined> {
  /** What the child passed to `serve`. */
  readonly ready: Ready;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, ready: Ready) {
    this.#process = process;
    this.ready = ready;
  }

  /**
   * Waits until the child serves.
   * @throws {ChildEndedError} when it ends before.
   */
  static async of<Api extends ChildApi, Ready = undefined>(
    process: ChildProcess,
  ): Promise<Child<Api, Ready>> {
    return new Child<Api, Ready>(process, (await nextValue(process)) as Ready);
  }

  /** Runs a TypeScript file of this project, or a bundle, as a child. */
  static fork<Api extends ChildApi, Ready = undefined>(
    file: URL | string,
    args: readonly string[] = [],
  ): Promise<Child<Api, Ready>> {
    const execArgv = ['--import', 'tsx', '--no-warnings'];
    return Child.of(
      typeof file === 'string'
        ? fork(file, args, { execArgv: ['--no-warnings'] })
        : fork(fileURLToPath(file), args, { execArgv }),
    );
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /**
   * Calls a function of the child. The next call must wait for the result.
   * @throws {ChildEndedError} when the child ends before it answers.
   */
  async call<Name extends keyof Api & string>(
    name: Name,
    ...args: Parameters<Api[Name]>
  ): Promise<Awaited<ReturnType<Api[Name]>>> {
    const value = nextValue(this.#process);
    this.#process.send({ name, args } satisfies Call);
    return (await value) as Awaited<ReturnType<Api[Name]>>;
  }

  /** Lets the child exit, and waits for it. */
  async end(): Promise<void> {
    const exited = once(this.#process, 'exit');
    this.#process.disconnect();
    await exited;
  }
}

function nextValue(process: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) =>
      reject(new ChildEndedError(`A child process ended before it answered (code ${code}).`));
    process.once('exit', ended);
    process.once('message', ({ value }: Reply) => {
      process.off('exit', ended);
      resolve(value);
    });
  });
}

/**
 * Bundles a TypeScript file of this project as Lambda functions are bundled, so that loading and compiling take as
 * long, and another Node can run it.
 *
 * @returns the path of the bundle.
 */
export async function bundle(file: URL): Promise<string> {
  const entry = fileURLToPath(file);
  const folder = fileURLToPath(new URL('out/', import.meta.url));
  const outfile = path.join(folder, path.basename(entry).replace(/\.ts$/, '.mjs'));
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    conditions: ['module'],
    banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url);" },
  });
  return outfile;
}

/**
 * A certificate of this run for `localhost` and 127.0.0.1, which signs itself. Needs `openssl`.
 *
 * @param folder an existing one.
 * @returns PEM, and the file that a client has to trust.
 */
export function makeCertificate(folder: string): { key: string; cert: string; file: string } {
  const [keyFile, file] = [path.join(folder, 'key.pem'), path.join(folder, 'certificate.pem')];
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-noenc', '-days', '1', '-subj', '/CN=localhost'];
  // rustls accepts no authority as the certificate of a server, and no address as its name.
  const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const leaf = ['-addext', 'basicConstraints=critical,CA:FALSE'];
  execFileSync('openssl', [...args, ...names, ...leaf, '-keyout', keyFile, '-out', file], { stdio: 'pipe' });
  return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(file, 'utf8'), file };
}

/** CPU time of a process and its running descendants, in ms: of all threads that run now. Needs Linux. */
export function cpuMsOfTree(pid: number | string): number {
  const folder = `/proc/${pid}/task`;
  if (!existsSync(folder)) return 0;
  const ofThreads = readdirSync(folder).map((thread) => {
    const ownMs = Number(textOf(`${folder}/${thread}/schedstat`).split(' ')[0]) / 1e6;
    const children = textOf(`${folder}/${thread}/children`).split(' ').filter(Boolean);
    return children.reduce((sum, child) => sum + cpuMsOfTree(child), ownMs);
  });
  return ofThreads.reduce((sum, cpuMs) => sum + cpuMs, 0);
}

/** Empty if the process, or the thread, has just ended. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
