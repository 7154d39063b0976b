import { parseArgs } from 'node:util';
import { formatTable, median } from '../../cost/tables.ts';
import { batch, createTenant, type EmbeddedStack, startStack, type Tenant } from './embedded-stack.ts';

/** Batches a second of one stack, a figure for each round. */
export interface CrowdResult {
  readonly stack: string;
  readonly perSecond: readonly number[];
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
  const perSecond = new Map<string, number[]>([...roots.keys()].map((name) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const [name, root] of roots) {
      const stack = await startStack(root);
      try {
        perSecond
          .get(name)
          ?.push(await measure(stack, { clients, objects, ms: Number(values.seconds) * 1000 }));
      } finally {
        await stack.stop();
      }
    }
  }
  const results = [...perSecond].map(([stack, all]) => ({ stack, perSecond: all }));
  const best = median(perSecond.get('this') ?? []);
  const rows = results.map((result) => [
    result.stack,
    median(result.perSecond).toFixed(0),
    (best / median(result.perSecond)).toFixed(2),
    result.perSecond.map((rate) => rate.toFixed(0)).join(' '),
  ]);
  print(`Batches of ${objects} new objects a second, from ${clients} clients`);
  print(`${formatTable(['', 'median', 'this ×', 'rounds'], rows)}\n`);
  return results;
}

async function measure(
  stack: EmbeddedStack,
  { clients, objects, ms }: { clients: number; objects: number; ms: number },
): Promise<number> {
  const tenants: Tenant[] = [];
  for (let client = 0; client < clients; client += 1)
    tenants.push(await createTenant(stack.url, `client-${client}`));
  const run = async (untilMs: number) => {
    let sent = 0;
    const send = async (tenant: Tenant) => {
      for (; performance.now() < untilMs; sent += 1) await batch(tenant, objects);
    };
    await Promise.all(tenants.map(send));
    return sent;
  };
  // The compiler has seen it by then.
  await run(performance.now() + ms / 2);
  const beganMs = performance.now();
  const sent = await run(beganMs + ms);
  return sent / ((performance.now() - beganMs) / 1000);
}
