import { formatNumber, formatTable } from '../cost/tables.ts';
import type { ScanStrategy } from '../lambda/domain/scan/strategy.ts';
import { createPathScan } from '../lambda/use-cases/scan/path-scan.ts';
import { type BucketShape, bucketShapes, hugeShapes, largeShapes } from '../test/support/bucket-shapes.ts';
import { RoundListing } from '../test/support/round-listing.ts';

type Kind = 'probe' | 'sixteen' | 'fixed-sixteen';

/** Requests and rounds of the strategies for one bucket. */
export interface ShapeCost {
  readonly shape: string;
  readonly keys: number;
  readonly pages: number;
  readonly costs: Readonly<Record<Kind, { readonly requests: number; readonly rounds: number }>>;
}

/**
 * Counts requests and rounds for buckets whose names are not hashes below one path, in a model where every page takes
 * one round.
 */
export async function benchShapes(print: (text: string) => void): Promise<ShapeCost[]> {
  const costs: ShapeCost[] = [];
  for (const shape of [...bucketShapes, ...largeShapes, ...hugeShapes]) costs.push(await costOf(shape));
  const rows = costs.map(({ shape, pages, costs: { probe, sixteen, 'fixed-sixteen': fixed } }) => [
    shape,
    formatNumber(pages),
    ...[probe, sixteen, fixed].flatMap(({ requests, rounds }) => [
      formatNumber(requests),
      formatNumber(rounds),
    ]),
    (probe.requests / pages).toFixed(2),
  ]);
  const header = [
    'shape',
    'pages',
    'probe',
    'rounds',
    'sixteen',
    'rounds',
    'fixed-16',
    'rounds',
    'probe × pages',
  ];
  print(`Requests and rounds where names are not hashes\n${formatTable(header, rows)}\n`);
  return costs;
}

async function costOf({ title, names }: BucketShape): Promise<ShapeCost> {
  const objects = names().map((name) => ({ key: `t/r/${name}`, sizeBytes: 3 }));
  const keys = objects.length;
  const costWith = async (kind: ScanStrategy['kind'] & Kind) => {
    const listing = new RoundListing(objects);
    const scan = createPathScan({ listing, clock: { nowMs: () => 0 }, settings: { scanConcurrency: 128 } });
    const outcome = await listing.serve(scan.scan({ prefix: 't/r/', strategy: { kind } }));
    if (outcome.kind !== 'done' || outcome.objectCount !== keys)
      throw new Error(`${kind}: a wrong count of "${title}".`);
    return { requests: outcome.requests, rounds: listing.rounds };
  };
  const costs = {
    probe: await costWith('probe'),
    sixteen: await costWith('sixteen'),
    'fixed-sixteen': await costWith('fixed-sixteen'),
  };
  return { shape: title, keys, pages: Math.max(1, Math.ceil(keys / 1000)), costs };
}
