import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CliContext } from '../../../cli/context.ts';
import { buildProgram, runCli } from '../../../cli/program.ts';

/** What a test server was asked. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly type?: string;
  /** How long it takes. */
  readonly afterMs?: number;
}

export interface TestServer {
  readonly url: string;
  readonly asked: readonly Asked[];
  close(): Promise<void>;
}

/** A loopback HTTP server that answers each request with what `answer` says, and remembers the requests. */
export async function startServer(answer: (asked: Asked) => Answer): Promise<TestServer> {
  const asked: Asked[] = [];
  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const entry = {
      method: request.method ?? '',
      path: request.url ?? '',
      authorization: request.headers.authorization,
      body: text === '' ? undefined : JSON.parse(text),
    };
    asked.push(entry);
    const { status, body, type, afterMs } = answer(entry);
    if (afterMs !== undefined) await sleep(afterMs);
    response.writeHead(status, { 'content-type': type ?? 'application/json' });
    response.end(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The clock that commands under test read. */
const testNowMs = Date.parse('2026-11-21T05:00:00Z');

/** The commands, to look at: nothing is printed, and nobody is asked. */
export function programForTest(context: Partial<CliContext> = {}) {
  return buildProgram({
    program: 'lfs-quota',
    version: '1.2.3',
    env: {},
    out: () => undefined,
    err: () => undefined,
    nowMs: () => testNowMs,
    sleep: () => Promise.resolve(),
    isTerminal: false,
    errIsTerminal: false,
    ...context,
  });
}

/** Runs the command line in this process. A `sleep` that throws ends what would go on for ever. */
export async function cli(
  args: readonly string[],
  options: {
    env?: Record<string, string>;
    sleep?: () => Promise<void>;
    now?: () => number;
    isTerminal?: boolean;
    errIsTerminal?: boolean;
    columns?: number;
    ask?: (question: string) => Promise<string>;
    askSecret?: (question: string) => Promise<string>;
    /** What standard input has. */
    input?: string;
    folder?: string;
    self?: readonly [string, ...string[]];
    onInterrupt?: (listener: () => void) => () => void;
  } = {},
): Promise<CliResult> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCli(args, {
    program: 'lfs-quota',
    version: '1.2.3',
    // git is found, and has no settings of this machine.
    env: { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', ...options.env },
    out: (text) => out.push(text),
    err: (text) => err.push(text),
    nowMs: options.now ?? (() => testNowMs),
    sleep: options.sleep ?? (() => Promise.resolve()),
    isTerminal: options.isTerminal ?? false,
    columns: () => options.columns ?? 200,
    errIsTerminal: options.errIsTerminal ?? options.isTerminal ?? false,
    errColumns: () => options.columns ?? 200,
    ask: options.ask,
    askSecret: options.askSecret,
    readInput: async () => options.input ?? '',
    ...(options.folder !== undefined && { folder: options.folder }),
    ...(options.self && { self: options.self }),
    ...(options.onInterrupt && { onInterrupt: options.onInterrupt }),
  });
  return { code, out: out.join(''), err: err.join('') };
}

/** The words of an example, up to where the shell takes its output. */
export function wordsOf(example: string): string[] {
  const [, line = ''] = /lfs-quota ((?:"[^"]*"|[^|)"])*)/.exec(example) ?? [];
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
}
