import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkOutLastRelease, lastRelease } from '../support/last-release.ts';
import { type Code, code } from './code.ts';
import { replacing } from './replacing.ts';
import { firstViolation, focuses, runSeed, runsOf } from './seeds.ts';

const seeds = runsOf({ usual: 6, nightly: 120 });
/** Each night has others. */
const firstSeed = Number(process.env['FC_SEED'] ?? 0) + 7_000;

/**
 * Each invocation is of the last release or of this version, by chance, as during a canary, and after a way back. They share
 * the table, the queue and the bucket, and what is promised by either has to be kept by both.
 */
describe(`functions of ${lastRelease().version} and of this version, in turn`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-release-'));
  let release: Code;
  let ofRelease = 0;

  beforeAll(async () => {
    const checkout = join(folder, 'release');
    await checkOutLastRelease(checkout);
    const { code: its }: { code: Code } = await import(join(checkout, 'test', 'simulation', 'code.ts'));
    release = {
      ...its,
      depsOf: (...args) => {
        ofRelease += 1;
        return its.depsOf(...args);
      },
    };
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(focuses)(`keep the invariants in ${seeds} scenarios: %s`, async (focus) => {
    for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1)
      await runSeed(seed, { focus, other: release }).catch((error: unknown) => {
        throw new Error(`Seed ${seed} of ${focus}`, { cause: error });
      });
  });

  it('were of the release many times, whose code is its own', () => {
    expect(ofRelease).toBeGreaterThan(10 * seeds);
    expect(release.runReconcile).not.toBe(code.runReconcile);
  });
});

it('notice a version that stores its reservations where this one does not look', async () => {
  const other: Code = {
    ...code,
    depsOf: (...args) => {
      const deps = code.depsOf(...args);
      return { ...deps, ledger: replacing(deps.ledger, { putReservation: async () => undefined }) };
    },
  };
  const found = await firstViolation({ from: 0, count: 40, invariant: /^I/, mutant: {}, other });
  expect(found).toBeDefined();
});
