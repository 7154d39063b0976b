import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Context } from 'aws-lambda';
import { ownCpuMs, peakMemoryMb, serve } from '../serve.ts';

/** The parts of a start, in ms. Lambda bills them, and gives them a full core. */
export interface Start {
  readonly codeBytes: number;
  readonly gzippedBytes: number;
  /** Node itself, until it runs the first line. */
  readonly nodeMs: number;
  /** Reading, compiling and running the bundle's modules. */
  readonly loadMs: number;
  readonly composeMs: number;
  /** The warm-up, before the first request. */
  readonly prepareMs: number;
  readonly totalMs: number;
  readonly cpuMs: number;
  readonly peakMb: number;
}

/** One call of the function. */
export interface Invoked {
  readonly answer: unknown;
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Largest resident memory of the process so far. */
  readonly peakMb: number;
}

const timeoutMs = 300_000;
const nodeMs = performance.now();
const [bundle = ''] = process.argv.slice(2);
const { handler } = (await import(bundle)) as {
  handler: (event: unknown, context: Context) => Promise<unknown>;
};
const totalMs = performance.now();
const marked = (name: string) => performance.getEntriesByName(`lfs-quota.${name}`)[0]?.startTime ?? totalMs;
const [composeAtMs, prepareAtMs] = [marked('compose'), marked('prepare')];
const code = readFileSync(bundle);
const start: Start = {
  codeBytes: code.length,
  gzippedBytes: gzipSync(code).length,
  nodeMs,
  loadMs: composeAtMs - nodeMs,
  composeMs: prepareAtMs - composeAtMs,
  prepareMs: totalMs - prepareAtMs,
  totalMs,
  cpuMs: ownCpuMs(),
  peakMb: peakMemoryMb(),
};

const api = {
  invoke: async (event: unknown): Promise<Invoked> => {
    const startedMs = performance.now();
    const context = {
      awsRequestId: 'bench',
      getRemainingTimeInMillis: () => timeoutMs - (performance.now() - startedMs),
    } as Context;
    const cpu = process.cpuUsage();
    const answer = await handler(event, context);
    return { answer, wallMs: performance.now() - startedMs, cpuMs: ownCpuMs(cpu), peakMb: peakMemoryMb() };
  },
};

export type FunctionApi = typeof api;

serve(api, start);
