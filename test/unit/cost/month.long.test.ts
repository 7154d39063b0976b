import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { answer } from '../../../cost/command.ts';
import { breakEvenSeconds, byPrefix, type Listing, waiting, waysToList } from '../../../cost/lists.ts';
import {
  defaultWorkload,
  largeRepoOf,
  listingOf,
  monthOf,
  sumOf,
  totalOf,
  type Workload,
} from '../../../cost/operations.ts';
import { createPathScan } from '../../../lambda/core/scan/path-scan.ts';
import type { ScanStrategy } from '../../../lambda/core/scan/rules/scan-plan.ts';
import { Random } from '../../support/random.ts';
import { hashNames, RoundListing } from '../../support/round-listing.ts';

const total = (more: Partial<Workload>, store: 's3' | 'r2' = 's3') =>
  totalOf(sumOf(monthOf({ ...defaultWorkload, ...more }, store)));

function lineOf(what: string, more: Partial<Workload>) {
  const line = monthOf({ ...defaultWorkload, ...more }, 's3').find((each) => each.what === what);
  if (!line) throw new Error(`There is no line "${what}".`);
  return line;
}

describe('by hand', () => {
  it('a million verifies', () => {
    const { times, cost } = lineOf('push: verify', { tenants: 1000, pushes: 50, objectMb: 8 });
    expect(times).toBe(1e6);
    expect(cost).toMatchObject({
      store: expect.closeTo(0.4, 9),
      table: expect.closeTo(0.125, 9),
      // 10 + 40 + 1.5 ms of half a GB, and the request.
      functions: expect.closeTo(0.2 + 0.0515 * 0.5 * 13.3334, 9),
      api: expect.closeTo(1, 9),
      queue: expect.closeTo(0.5, 9),
      logs: expect.closeTo((1.2e9 / 2 ** 30) * 0.5, 9),
    });
  });

  it('a million reconciles, each of which receives and deletes a message', () => {
    const { cost } = lineOf('push: reconcile again', { tenants: 1000, pushes: 1000 });
    expect([cost.queue, cost.api, cost.fixed]).toEqual([expect.closeTo(1, 9), 0, 0]);
  });

  it('a deployment that nobody uses: alarms, a metric, four queues, and a run each minute', () => {
    const idle = { tenants: 0, pushes: 0, fetches: 0 };
    const run = 0.2e-6 + 0.05 * 0.25 * 13.3334e-6 + 1e-6 + 13 * 0.125e-6 + 0.625e-6 + (1200 / 2 ** 30) * 0.5;
    expect(total(idle)).toBeCloseTo(57 * 0.1 + 0.3 + 3 + 0.4 + 0.648 * (0.5 + 3 * 0.4) + 43_200 * run, 6);
    // Four alarms, and a queue more.
    expect(total({ ...idle, storeEvents: true }) - total(idle)).toBeCloseTo(0.4 + 0.648 * 0.4, 6);
  });

  it('bytes: on S3 those that are fetched, too', () => {
    // A billion bytes a thousand objects.
    const objectMb = 1e6 / 1024 ** 2;
    const bytes = (store: 's3' | 'r2') =>
      sumOf(monthOf({ ...defaultWorkload, tenants: 10, objects: 1000, fetches: 50, objectMb }, store)).bytes;
    // AWS bills 2³⁰ bytes as a GB.
    const s3 = (1e9 / 2 ** 30) * (0.23 + 0.9);
    expect([bytes('s3'), bytes('r2')]).toEqual([expect.closeTo(s3, 9), expect.closeTo(0.15, 9)]);
  });

  it('bytes on S3 beyond a first tier: each GB has the price of its own', () => {
    // 600 TB stored, 200 fetched.
    const objects = 600 * 2 ** 20;
    const month = { ...defaultWorkload, tenants: 1, objects, fetches: (200 * 2 ** 20) / 20, objectMb: 1 };
    const stored = 50 * 0.023 + 450 * 0.022 + 100 * 0.021;
    const fetched = 10 * 0.09 + 40 * 0.085 + 100 * 0.07 + 50 * 0.05;
    expect(sumOf(monthOf(month, 's3')).bytes).toBeCloseTo(1024 * (stored + fetched), 6);
    const cdn = 9 * 0.085 + 40 * 0.08 + 100 * 0.06 + 50 * 0.04;
    const gets = (200 * 2 ** 20 - 10e6) / 1e6;
    expect(sumOf(monthOf({ ...month, cdn: true }, 's3')).bytes).toBeCloseTo(1024 * (stored + cdn) + gets, 6);
  });

  it('the secret of a store outside AWS: a read for each run, up to those of ten functions that stay warm', () => {
    const fixed = (tenants: number, store: 's3' | 'r2') =>
      sumOf(monthOf({ ...defaultWorkload, tenants, pushes: 0, fetches: 1000 }, store)).fixed;
    const counts = 30 / 0.95;
    expect(fixed(1, 'r2') - fixed(1, 's3')).toBeCloseTo(0.4 + (1000 + counts) * 5e-6, 9);
    expect(fixed(1000, 'r2') - fixed(1000, 's3')).toBeCloseTo(0.4 + 10 * 30 * 24 * 12 * 5e-6, 9);
  });
});

describe('a month', () => {
  it.each(['tenants', 'pushes', 'fetches', 'objects', 'objectMb'] as const)(
    'costs more with more %s',
    (name) => {
      let before = 0;
      for (const factor of [0, 0.5, 1, 2, 20, 200]) {
        const now = total({ [name]: defaultWorkload[name] * factor });
        expect(now).toBeGreaterThan(before);
        before = now;
      }
    },
  );

  it('has a full count a day of a tenant that is used, and one a month of another', () => {
    expect(lineOf('full count', { tenants: 1 }).times).toBeCloseTo(30 / 0.95, 9);
    expect(lineOf('full count', { tenants: 1, pushes: 0, fetches: 0 }).times).toBeCloseTo(1 / 0.95, 9);
  });

  it('has as many LISTs as the budget of a tenant allows', () => {
    const large = { tenants: 1, objects: 40_000_000, pushes: 1000 };
    const lists = ['push: reconcile', 'full count'].map((what) => lineOf(what, large).cost.store / 5e-6);
    expect(lists.reduce((sum, each) => sum + each, 0)).toBeCloseTo(720 * 1200, 3);
  });
});

async function scanOf(keys: number, strategy: ScanStrategy, scanConcurrency = 128) {
  const objects = hashNames(keys, keys).map((name) => ({ key: `t/r/${name}`, sizeBytes: 1 }));
  const listing = new RoundListing(objects);
  const scan = createPathScan({ listing, clock: { nowMs: () => 0 }, settings: { scanConcurrency } });
  const { requests } = await listing.serve(scan.scan({ prefix: 't/r/', strategy }));
  return { lists: requests, rounds: listing.rounds };
}

describe('what a listing takes is what the planner does', () => {
  it.each([0, 1000, 4000, 10_000, 20_000, 50_000])('of a repo of %i', async (keys) => {
    const [modelled, scanned] = [listingOf(keys), await scanOf(keys, { kind: 'hint', objects: keys })];
    expect(Math.abs(modelled.lists - scanned.lists)).toBeLessThanOrEqual(1);
    expect(Math.abs(modelled.rounds - scanned.rounds)).toBeLessThanOrEqual(1);
  });

  it('of a shard', async () => {
    const { shards, lists } = largeRepoOf(212_000, 's3');
    expect(shards).toBe(1);
    expect(
      Math.abs((await scanOf(212_000, { kind: 'hint', objects: 212_000 }, 16)).lists / lists - 1),
    ).toBeLessThan(0.015);
  });
});

describe('16 LISTs at once', () => {
  it('take what they take on average: as drawn', () => {
    const [random, objects, draws] = [new Random(1), 15_500, 400];
    let [lists, squares, rounds] = [0, 0, 0];
    for (let draw = 0; draw < draws; draw += 1) {
      const counts = new Array<number>(16).fill(0);
      for (let object = 0; object < objects; object += 1) {
        const digit = random.uint32() >>> 28;
        counts[digit] = (counts[digit] ?? 0) + 1;
      }
      const pages = counts.map((keys) => Math.max(1, Math.ceil(keys / 1000)));
      const sum = pages.reduce((all, each) => all + each, 0);
      [lists, squares, rounds] = [lists + sum, squares + sum * sum, rounds + Math.max(...pages)];
    }
    const exact = byPrefix(objects);
    const deviation = Math.sqrt((squares / draws - (lists / draws) ** 2) / draws);
    expect(Math.abs(lists / draws - exact.lists)).toBeLessThan(4 * deviation);
    // One in 30 is of a round less.
    expect(Math.abs(rounds / draws - exact.rounds)).toBeLessThan(4 * Math.sqrt(0.033 / draws));
  });

  it.each([
    // By the binomial distribution, and where chance has no part.
    [0, 16, 1],
    [1000, 16, 1],
    [15_000, 16.28, 1.26],
    [15_500, 18.34, 1.97],
    [17_000, 31.62, 2],
    [2000, 16, 1],
  ])('take for %i objects %f LISTs in %f rounds', (objects, lists, rounds) => {
    const found = byPrefix(objects);
    expect([found.lists, found.rounds]).toEqual([expect.closeTo(lists, 2), expect.closeTo(rounds, 2)]);
  });

  it('are what the planner does if it is told so', async () => {
    const [found, { lists, rounds }] = [await scanOf(17_000, { kind: 'fixed-sixteen' }), byPrefix(17_000)];
    expect(Math.abs(found.lists - lists)).toBeLessThan(2);
    expect(found.rounds).toBeCloseTo(rounds, 6);
  });

  it.each([0, 1000, 3936, 5001, 15_500, 17_000])('and ours, first and later, of %i', async (keys) => {
    const [slow, , first, later] = waysToList(keys);
    expect(await scanOf(keys, { kind: 'sequential' })).toEqual(slow);
    for (const [modelled, strategy] of [
      [first, { kind: 'probe' }],
      [later, { kind: 'hint', objects: keys }],
    ] as const) {
      const scanned = await scanOf(keys, strategy);
      expect(Math.abs(modelled.lists - scanned.lists)).toBeLessThanOrEqual(1);
      expect(Math.abs(modelled.rounds - scanned.rounds)).toBeLessThanOrEqual(1);
    }
  });

  // R2 and x86, as the question was asked.
  const breakEven = (slow: number, fast: Listing) =>
    breakEvenSeconds({ lists: slow, rounds: slow }, fast, 'r2', waiting[0]?.perSecond ?? 0);

  it.each([
    // 1.08 × 11 ÷ 4, and 1.08 × 10 ÷ 5: at 2.5 s, 5,000 objects are cheaper in turn, and 5,001 are not.
    [5, { lists: 16, rounds: 1 }, 2.97],
    [6, { lists: 16, rounds: 1 }, 2.16],
    [17, { lists: 32, rounds: 2 }, 1.08],
    [1, { lists: 16, rounds: 1 }, Number.POSITIVE_INFINITY],
    [16, { lists: 16, rounds: 1 }, 0],
  ])('cost less than %i in turn if a page takes longer', (slow, fast, seconds) => {
    expect(breakEven(slow, fast)).toBeCloseTo(seconds, 3);
  });

  it('as the command prints it', () => {
    const [, table = ''] = answer(['scan', '--store', 'r2', '--objects', '5000']).split('LISTs in rounds');
    const row = /^5,000 .*$/m.exec(table)?.[0].split(/ {2,}/);
    expect(row).toEqual([
      ...['5,000', '5 in 5', '16 in 1', '6 in 2', '6 in 1'],
      // 1.08 × 11 ÷ 4, 1.08 × 1 ÷ 3 and 1.08 × 1 ÷ 4; then 0.3375 for 1.08.
      ...['2.97', '0.36', '0.27', '0.93', '0.11', '0.08'],
    ]);
    expect(answer(['scan', '--objects', '100000'])).not.toContain('16 at once');
  });
});

describe('the command', () => {
  it.each([
    [['--tenants', '0'], '--tenants must be a whole number, 1 or more, not "0".'],
    [['--pushes', 'many'], '--pushes must be a whole number, 0 or more, not "many".'],
    [['--monitoring', 'some'], '--monitoring must be none, basic or full, not "some".'],
    [['--store', 'gcs'], '--store must be s3 or r2, not "gcs".'],
    [['scan', '--tenants', '9'], "Unknown option '--tenants'. Show the options: npm run -s cost -- --help"],
    [['--tenants'], 'argument missing. Show the options'],
  ])('refuses %j', (args, message) => {
    expect(() => answer(args)).toThrow(message);
  });

  it('prints the totals of docs/deploy.md', () => {
    const page = readFileSync(new URL('../../../docs/deploy.md', import.meta.url), 'utf8');
    const lines = [...answer([]).matchAll(/^([\d,]+) tenants on (\w+) .* ([\d.,]+) +([\d.,]+)$/gm)];
    expect(lines).toHaveLength(6);
    const rows = lines.map(([, tenants, store, bytes = '', total = '']) => {
      const ours = Number(total.replaceAll(',', '')) - Number(bytes.replaceAll(',', ''));
      const shown = ours.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
      return `| ${tenants} | ${store} | ${shown} | ${bytes} | ${total} |`;
    });
    expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  });

  it('prints what docs/costs.md says of 16 LISTs at once', () => {
    const page = readFileSync(new URL('../../../docs/costs.md', import.meta.url), 'utf8').replaceAll(
      '\n',
      ' ',
    );
    const scan = answer(['scan', '--store', 'r2']);
    const row = (objects: string) =>
      [...scan.matchAll(new RegExp(`^${objects} .*`, 'gm'))].at(-1)?.[0].split(/ {2,}/) ?? [];
    const [, inTurn, sixteen, first, later, above, firstAbove, laterAbove, deployed] = row('3,936');
    expect([inTurn, sixteen, first, later]).toEqual(['4 in 4', '16 in 1', '5 in 2', '5 in 1']);
    const more = row('5,001');
    expect(row('15,500')[2]).toBe('18.3 in 1.97');
    const total = /100,000 tenants on S3 .* ([\d.,]+)$/m.exec(answer([]))?.[1];
    for (const said of [
      `On R2, that's ${above} s for its objects`,
      `For 5,001 objects, it's ${more[5]} s.`,
      `it's ${deployed} s and ${more[8]} s.`,
      'take 18.3 LISTs in 1.97 rounds',
      `5 LISTs in 2 rounds cost less above ${firstAbove} s`,
      `5 in 1, which cost less above ${laterAbove} s`,
      `Now they're $${total}.`,
    ])
      expect(page).toContain(said);
  });

  it('prints the scans of docs/measured.md', () => {
    const page = readFileSync(new URL('../../../docs/measured.md', import.meta.url), 'utf8');
    const scans = [
      ...answer(['scan', '--store', 's3']).matchAll(/^[\d,]{10,} +[\d,]+ +([\d,]+) +([\d.,]+) /gm),
    ];
    const rows = scans.map(
      ([, lists, dollars]) => `| ${lists} | ${Number(dollars?.replaceAll(',', '')).toFixed(2)} |`,
    );
    expect(rows.filter((row) => page.includes(row))).toHaveLength(4);
  });

  it('prints the table of docs/costs.md', () => {
    const page = readFileSync(new URL('../../../docs/costs.md', import.meta.url), 'utf8');
    const lines = answer(['hosts']).split('\n');
    const rows = lines
      .map((line) => line.trim().split(/ {2,}/))
      .filter(([place]) => !place?.startsWith('---'));
    expect(rows).toHaveLength(9);
    const [heading, ...others] = rows.map((cells) => `| ${cells.slice(1).join(' | ')} |`);
    expect(page).toContain(heading?.replace('prices', 'Prices'));
    expect(others.filter((row, index) => !page.includes(`| ${rows[index + 1]?.[0]} ${row}`))).toEqual([]);
  });

  it('explains its options', () => {
    expect(answer(['--help'])).toContain('--object-mb');
    expect(answer(['scan', '--help'])).not.toContain('--object-mb');
  });
});
