import { cloudPrices } from '../../cost/prices.ts';
import type { FunctionName } from '../../lambda/routes.ts';
import { ChildEndedError } from '../child/child.ts';
import { createCpuQuota } from '../scan/cpu-quota.ts';
import { median } from '../statistics.ts';
import type { BackendProcess } from './backend-process.ts';
import type { Case } from './cases.ts';
import { type FunctionProcess, startFunction } from './function-process.ts';
import { createMemoryLimit, type MemoryLimit } from './memory-limit.ts';
import type { Invoked, Start } from './run-function.ts';

/** Lambda gives CPU in proportion to memory: one core at 1,769 MB. */
const coreMb = 1769;
/** The period of the CPU quota. AWS does not publish Lambda's. */
export const periodMs = 20;
const timeoutMs = 300_000;

export interface Plan {
  /** The Node that runs the functions. */
  readonly node: string;
  readonly bundleOf: (name: FunctionName) => string;
  readonly backend: BackendProcess;
  readonly processes: number;
  readonly warmCalls: number;
}

/** The start of a function: medians of several fresh processes. */
export interface MeasuredStart extends Start {
  readonly function: FunctionName;
  readonly processes: number;
  readonly totalMs: number;
}

/** One kind of work with one memory size. Medians, except for the peak, which is the highest. */
export interface MeasuredWork {
  readonly case: string;
  readonly function: FunctionName;
  readonly isAwaited: boolean;
  readonly memoryMb: number;
  readonly processes: number;
  readonly warmCalls: number;
  readonly coldMs: number;
  readonly coldCpuMs: number;
  readonly warmMs: number;
  readonly warmCpuMs: number;
  readonly peakMb: number;
  /** A million warm calls: memory × time at the price of the list. */
  readonly dollarsPerMillion: number;
  /** How CPU and memory were limited. */
  readonly means: { readonly cpu: string; readonly memory: string };
}

/** The environment that the stack gives a function, with the backend instead of AWS. */
function environmentOf(plan: Plan, input: { name: FunctionName; objects: number }): Record<string, string> {
  const { endpoint, certificateFile } = plan.backend;
  return {
    AWS_LAMBDA_FUNCTION_NAME: input.name,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'ASIABENCH',
    AWS_SECRET_ACCESS_KEY: 'bench',
    AWS_SESSION_TOKEN: 'token'.repeat(160),
    AWS_ENDPOINT_URL: endpoint,
    NODE_EXTRA_CA_CERTS: certificateFile,
    NODE_OPTIONS: '--enable-source-maps',
    POWERTOOLS_LOG_LEVEL: 'INFO',
    POWERTOOLS_METRICS_NAMESPACE: 'bench',
    LFS_QUOTA_TABLE: 'lfs-quota',
    LFS_QUOTA_BUCKET: `n${input.objects}`,
    LFS_QUOTA_S3_REGION: 'us-east-1',
    LFS_QUOTA_S3_ENDPOINT: endpoint,
    LFS_QUOTA_QUEUE_URL: `${endpoint}/reconcile.fifo`,
    LFS_QUOTA_WEBHOOK_QUEUE_URL: `${endpoint}/webhooks`,
    LFS_QUOTA_GAUGED_QUEUES: '{}',
    LFS_QUOTA_ADMIN_SECRET_ARN: 'admin',
  };
}

function begin(
  plan: Plan,
  input: { name: FunctionName; objects: number; limit?: MemoryLimit },
): Promise<FunctionProcess> {
  const { name, limit } = input;
  const environment = environmentOf(plan, input);
  return startFunction({
    node: plan.node,
    bundle: plan.bundleOf(name),
    environment,
    ...(limit && { limit }),
  });
}

export async function measureStart(
  plan: Plan,
  input: { name: FunctionName; processes: number },
): Promise<MeasuredStart> {
  const { name, processes } = input;
  const starts: Start[] = [];
  for (let turn = 0; turn < processes; turn += 1) {
    const process = await begin(plan, { name, objects: 0 });
    starts.push(process.ready);
    await process.end();
  }
  const of = (value: (start: Start) => number) => median(starts.map(value));
  return {
    function: name,
    processes,
    nodeMs: of((start) => start.nodeMs),
    loadMs: of((start) => start.loadMs),
    composeMs: of((start) => start.composeMs),
    prepareMs: of((start) => start.prepareMs),
    totalMs: of((start) => start.nodeMs + start.loadMs + start.composeMs + start.prepareMs),
    cpuMs: of((start) => start.cpuMs),
    peakMb: of((start) => start.peakMb),
  };
}

/**
 * Measures one kind of work with this memory and the share of a core that belongs to it. The start has a full core.
 * @returns undefined if the process did not survive.
 */
export async function measureWork(
  plan: Plan,
  work: Case,
  memoryMb: number,
): Promise<MeasuredWork | undefined> {
  // The smallest sizes take longest. One process is enough to show that.
  const { processes, warmCalls } = memoryMb < 256 ? { ...plan, processes: 1 } : plan;
  const quota = createCpuQuota(memoryMb / coreMb, periodMs);
  const limit = createMemoryLimit(memoryMb);
  const cold: Invoked[] = [];
  const warm: Invoked[] = [];
  try {
    for (let turn = 0; turn < processes; turn += 1) {
      const objects = work.standing.objects;
      const process = await begin(plan, { name: work.function, objects, limit });
      quota.hold(process.pid);
      try {
        cold.push(await callOnce(plan, work, { process, turn: 0 }));
        for (let call = 1; call <= warmCalls; call += 1)
          warm.push(await callOnce(plan, work, { process, turn: call }));
      } finally {
        // A control group cannot be removed while a process is in it.
        await process.end();
      }
    }
  } catch (error) {
    if (error instanceof ChildEndedError) return undefined;
    throw error;
  } finally {
    quota.close();
    limit.close();
  }
  return {
    case: work.name,
    function: work.function,
    isAwaited: work.isAwaited,
    memoryMb,
    processes,
    warmCalls,
    ...figuresOf({ cold, warm, memoryMb }),
    means: { cpu: quota.means, memory: limit.means },
  };
}

function figuresOf(input: { cold: readonly Invoked[]; warm: readonly Invoked[]; memoryMb: number }) {
  const { cold, warm, memoryMb } = input;
  const of = (calls: readonly Invoked[], value: (call: Invoked) => number) => median(calls.map(value));
  const warmMs = of(warm, (call) => call.wallMs);
  const gbSeconds = (Math.ceil(warmMs) / 1000) * (memoryMb / 1024);
  return {
    coldMs: of(cold, (call) => call.wallMs),
    coldCpuMs: of(cold, (call) => call.cpuMs),
    warmMs,
    warmCpuMs: of(warm, (call) => call.cpuMs),
    peakMb: Math.max(...[...cold, ...warm].map((call) => call.peakMb)),
    dollarsPerMillion: gbSeconds * cloudPrices.lambdaGbSecondArm64 * 1e6,
  };
}

async function callOnce(
  { backend }: Plan,
  work: Case,
  { process, turn }: { process: FunctionProcess; turn: number },
): Promise<Invoked> {
  await backend.reset(work.standing);
  const invoked = await process.call('invoke', { event: work.event(turn), timeoutMs });
  work.check(invoked.answer, await backend.look());
  return invoked;
}
