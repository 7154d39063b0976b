import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { answer } from '../../../cost/command.ts';
import {
  defaultWorkload,
  largeRepoOf,
  listingOf,
  monthOf,
  sumOf,
  totalOf,
  type Workload,
} from '../../../cost/operations.ts';
import { createPathScan } from '../../../lambda/scan/path-scan.ts';
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
      logs: expect.closeTo(0.6, 9),
    });
  });

  it('a million reconciles, each of which receives and deletes a message', () => {
    const { cost } = lineOf('push: reconcile again', { tenants: 1000, pushes: 1000 });
    expect([cost.queue, cost.api, cost.fixed]).toEqual([expect.closeTo(1, 9), 0, 0]);
  });

  it('a deployment that nobody uses: alarms, a metric, four queues, and a run each minute', () => {
    const idle = { tenants: 0, pushes: 0, fetches: 0 };
    const run = 0.2e-6 + 0.05 * 0.25 * 13.3334e-6 + 1e-6 + 13 * 0.125e-6 + 0.625e-6 + (1200 / 1e9) * 0.5;
    expect(total(idle)).toBeCloseTo(55 * 0.1 + 0.3 + 3 + 0.4 + 0.648 * (0.5 + 3 * 0.4) + 43_200 * run, 6);
    // Four alarms, and a queue more.
    expect(total({ ...idle, storeEvents: true }) - total(idle)).toBeCloseTo(0.4 + 0.648 * 0.4, 6);
  });

  it('bytes: on S3 those that are fetched, too', () => {
    // A GB a thousand objects.
    const objectMb = 1e6 / 1024 ** 2;
    const bytes = (store: 's3' | 'r2') =>
      sumOf(monthOf({ ...defaultWorkload, tenants: 10, objects: 1000, fetches: 50, objectMb }, store)).bytes;
    expect([bytes('s3'), bytes('r2')]).toEqual([expect.closeTo(0.23 + 0.9, 9), expect.closeTo(0.15, 9)]);
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

describe('what a listing takes is what the planner does', () => {
  async function scanOf(keys: number, scanConcurrency: number) {
    const objects = hashNames(keys, keys).map((name) => ({ key: `t/r/${name}`, sizeBytes: 1 }));
    const listing = new RoundListing(objects);
    const scan = createPathScan({ listing, clock: { nowMs: () => 0 }, settings: { scanConcurrency } });
    const { requests } = await listing.serve(scan.scan({ prefix: 't/r/', hintObjects: keys }));
    return { lists: requests, rounds: listing.rounds };
  }

  it.each([0, 1000, 4000, 10_000, 20_000, 50_000])('of a repo of %i', async (keys) => {
    const [modelled, scanned] = [listingOf(keys), await scanOf(keys, 128)];
    expect(Math.abs(modelled.lists - scanned.lists)).toBeLessThanOrEqual(1);
    expect(Math.abs(modelled.rounds - scanned.rounds)).toBeLessThanOrEqual(1);
  });

  it('of a shard', async () => {
    const { shards, lists } = largeRepoOf(212_000, 's3');
    expect(shards).toBe(1);
    expect(Math.abs((await scanOf(212_000, 16)).lists / lists - 1)).toBeLessThan(0.015);
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
