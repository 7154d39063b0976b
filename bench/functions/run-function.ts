import type { Context } from 'aws-lambda';
import { peakMemoryMb } from '../child/peak-memory.ts';
import { serve } from '../child/serve.ts';

/** The parts of a start, in ms. Lambda has billed them since August 2025, and gives them a full core. */
export interface Start {
  /** Node itself, until it runs the first line. */
  readonly nodeMs: number;
  /** Reading, compiling and running the bundle's modules. */
  readonly loadMs: number;
  readonly composeMs: number;
  /** The warm-up, before the first request. */
  readonly prepareMs: number;
  readonly cpuMs: number;
  readonly peakMb: number;
}

export interface InvokeRequest {
  readonly event: unknown;
  readonly timeoutMs: number;
}

export interface Invoked {
  readonly answer: unknown;
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Largest resident memory of the process since it began. */
  readonly peakMb: number;
}

type Handler = (event: unknown, context: Context) => Promise<unknown>;

const cpuMs = (since?: NodeJS.CpuUsage) => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
};

const nodeMs = performance.now();
const [bundle = ''] = process.argv.slice(2);
const { handler } = (await import(bundle)) as { handler: Handler };
const readyMs = performance.now();
const marked = (name: string) => performance.getEntriesByName(`lfs-quota.${name}`)[0]?.startTime ?? readyMs;
const [composeAtMs, prepareAtMs] = [marked('compose'), marked('prepare')];
const start: Start = {
  nodeMs,
  loadMs: composeAtMs - nodeMs,
  composeMs: prepareAtMs - composeAtMs,
  prepareMs: readyMs - prepareAtMs,
  cpuMs: cpuMs(),
  peakMb: peakMemoryMb(),
};

const api = {
  invoke: async ({ event, timeoutMs }: InvokeRequest): Promise<Invoked> => {
    const startedMs = performance.now();
    const context = {
      awsRequestId: 'bench',
      getRemainingTimeInMillis: () => timeoutMs - (performance.now() - startedMs),
    } as Context;
    const cpu = process.cpuUsage();
    const answer = await handler(event, context);
    const wallMs = performance.now() - startedMs;
    return { answer, wallMs, cpuMs: cpuMs(cpu), peakMb: peakMemoryMb() };
  },
};

export type FunctionApi = typeof api;

serve(api, start);
