import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { formatTable } from '../../cost/tables.ts';
import { median } from '../statistics.ts';
import { batch, createTenant, type EmbeddedStack, startStack, type Tenant } from './embedded-stack.ts';

/** What one stack did in a round. */
interface Round {
  readonly perSecond: number;
  /** Of a batch, as its client saw it. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the stack's process alone. */
  readonly cpuMs: number;
  readonly residentMb: number;
}

export interface CrowdResult {
  readonly stack: string;
  readonly rounds: readonly Round[];
}

/**
 * Many clients of one `npm start`, each of which sends one batch after another.
 *
 * Options: `--clients=N` (50), `--objects=N` in a batch (10), `--seconds=N` a round (5), `--rounds=N` (3),
 * `--before=FOLDER`: another checkout, with its packages, whose stack takes turns with this one.
 */
export async function benchCrowd(
  print: (text: string) => void,
  options: readonly string[],
): Promise<CrowdResult[]> {
  const { values } = parseArgs({
    args: [...options],
    options: {
      clients: { type: 'string', default: '50' },
      objects: { type: 'string', default: '10' },
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '3' },
      before: { type: 'string' },
    },
  });
  const [clients, objects] = [Number(values.clients), Number(values.objects)];
  const roots = new Map<string, string | undefined>([['this', undefined]]);
  if (values.before !== undefined) roots.set('before', values.before);
  const measured = new Map<string, Round[]>([...roots.keys()].map((name) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const [name, root] of roots) {
      const stack = await startStack(root);
      try {
        measured
          .get(name)
          ?.push(await measure(stack, { clients, objects, ms: Number(values.seconds) * 1000 }));
      } finally {
        await stack.stop();
      }
    }
  }
  const results = [...measured].map(([stack, rounds]) => ({ stack, rounds }));
  const middle = (rounds: readonly Round[], of: keyof Round) => median(rounds.map((round) => round[of]));
  const best = middle(measured.get('this') ?? [], 'perSecond');
  const rows = results.map(({ stack, rounds }) => [
    stack,
    middle(rounds, 'perSecond').toFixed(0),
    (best / middle(rounds, 'perSecond')).toFixed(2),
    ...(['p50Ms', 'p99Ms', 'cpuMs', 'residentMb'] as const).map((of) => middle(rounds, of).toFixed(2)),
    rounds.map(({ perSecond }) => perSecond.toFixed(0)).join(' '),
  ]);
  const header = ['', 'median', 'this ×', 'p50 ms', 'p99 ms', 'CPU ms each', 'RSS MB', 'rounds'];
  print(`Batches of ${objects} new objects a second, from ${clients} clients`);
  print(`${formatTable(header, rows)}\n`);
  return results;
}

async function measure(
  stack: EmbeddedStack,
  { clients, objects, ms }: { clients: number; objects: number; ms: number },
): Promise<Round> {
  const tenants: Tenant[] = [];
  for (let client = 0; client < clients; client += 1)
    tenants.push(await createTenant(stack.url, `client-${client}`));
  const run = async (untilMs: number) => {
    const took: number[] = [];
    const send = async (tenant: Tenant) => {
      while (performance.now() < untilMs) took.push(await batch(tenant, objects));
    };
    await Promise.all(tenants.map(send));
    return took.sort((a, b) => a - b);
  };
  // The compiler has seen it by then.
  await run(performance.now() + ms / 2);
  const [beganMs, cpuBeganMs] = [performance.now(), cpuMsOf(stack.pid)];
  const took = await run(beganMs + ms);
  const status = readFileSync(`/proc/${stack.pid}/status`, 'utf8');
  return {
    perSecond: took.length / ((performance.now() - beganMs) / 1000),
    p50Ms: took[Math.floor(took.length / 2)] ?? Number.NaN,
    p99Ms: took[Math.floor(took.length * 0.99)] ?? Number.NaN,
    cpuMs: (cpuMsOf(stack.pid) - cpuBeganMs) / took.length,
    residentMb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1000,
  };
}

/** What a process has used until now, on Linux: its clock has 100 ticks a second. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
