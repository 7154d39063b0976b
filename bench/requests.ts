import { formatNumber, formatTable } from '../cost/tables.ts';
import type { ScanStrategy } from '../lambda/domain/scan/strategy.ts';
import { createPathScan } from '../lambda/use-cases/scan/path-scan.ts';
import { hashNames, RoundListing } from '../test/support/round-listing.ts';
import { mean } from './statistics.ts';

/** Requests and rounds of one strategy for one number of keys, over several sets of keys. */
export interface RequestCost {
  readonly strategy: ScanStrategy['kind'];
  readonly keys: number;
  readonly sets: number;
  readonly requests: { readonly mean: number; readonly max: number };
  readonly rounds: { readonly mean: number; readonly max: number };
}

const plan: readonly {
  readonly kinds: readonly ScanStrategy['kind'][];
  readonly keys: number;
  readonly sets: number;
}[] = [
  ...[0, 100, 1000, 1001, 4000].map((keys) => ({
    kinds: ['hint', 'probe', 'sixteen'] as const,
    keys,
    sets: 100,
  })),
  ...[14_000, 15_000, 16_000, 17_000].map((keys) => ({
    kinds: ['hint', 'probe', 'sixteen'] as const,
    keys,
    sets: 100,
  })),
  ...[30_000, 46_000, 60_000, 75_000, 91_000].map((keys) => ({
    kinds: ['sixteen'] as const,
    keys,
    sets: 30,
  })),
  { kinds: ['hint', 'probe', 'sixteen'], keys: 100_000, sets: 50 },
  { kinds: ['hint', 'probe'], keys: 1_000_000, sets: 3 },
];

/**
 * Counts requests and rounds in a model where every page takes one round. Without network and clock, it shows the
 * quality of the plan and the influence of chance.
 */
export async function benchRequests(print: (text: string) => void): Promise<RequestCost[]> {
  const costs: RequestCost[] = [];
  for (const { kinds, keys, sets } of plan) {
    for (const kind of kinds) costs.push(await costOf(kind, { keys, sets }));
  }
  const rows = costs.map((cost) => {
    const pages = Math.ceil(cost.keys / 1000);
    return [
      cost.strategy,
      formatNumber(cost.keys),
      formatNumber(pages),
      cost.requests.mean.toFixed(2),
      formatNumber(cost.requests.max),
      pages === 0 ? '–' : (cost.requests.mean / pages).toFixed(3),
      cost.rounds.mean.toFixed(2),
      formatNumber(cost.rounds.max),
      formatNumber(cost.sets),
    ];
  });
  const header = ['strategy', 'keys', 'pages', 'requests', 'most', '× pages', 'rounds', 'most', 'key sets'];
  print(`Requests and rounds, mean and most over sets of random hashes\n${formatTable(header, rows)}\n`);
  return costs;
}

async function costOf(
  kind: ScanStrategy['kind'],
  { keys, sets }: { keys: number; sets: number },
): Promise<RequestCost> {
  const requests: number[] = [];
  const rounds: number[] = [];
  for (let set = 1; set <= sets; set += 1) {
    const names = hashNames(keys, set * 7919 + keys);
    const listing = new RoundListing(names.map((name) => ({ key: `t/r/${name}`, sizeBytes: 3 })));
    const scan = createPathScan({ listing, clock: { nowMs: () => 0 }, settings: { scanConcurrency: 128 } });
    const strategy = kind === 'hint' ? { kind, objects: keys } : { kind };
    const outcome = await listing.serve(scan.scan({ prefix: 't/r/', strategy }));
    if (outcome.kind !== 'done' || outcome.objectCount !== keys)
      throw new Error(`${kind}: a wrong count of ${keys}.`);
    requests.push(outcome.requests);
    rounds.push(listing.rounds);
  }
  const cost = (values: number[]) => ({ mean: mean(values), max: Math.max(...values) });
  return { strategy: kind, keys, sets, requests: cost(requests), rounds: cost(rounds) };
}
