import { describe, expect, it } from 'vitest';
import {
  type CleanUpShape,
  cleanUpCost,
  cleanUpRun,
  openCleanUp,
  showCleanUp,
  signKeepSet,
  startCleanUp,
} from '../../../cost/clean-ups.ts';
import { monthlyCost } from '../../../cost/monthly-cost.ts';
import { assumedDurations, totalOf } from '../../../cost/operation-cost.ts';
import type { Operation } from '../../../cost/operations.ts';
import { cloudPrices, s3Prices } from '../../../cost/prices.ts';
import { defaultWorkload } from '../../../cost/workload.ts';
import { keepSetKey } from '../../../lambda/domain/cleanup/cleanup-keys.ts';
import { prefixesOf } from '../../../lambda/domain/cleanup/prefixes.ts';
import { sha256Hex } from '../../../lambda/domain/hash.ts';
import { create } from '../../../lambda/handlers/management.ts';
import { runRecount } from '../../../lambda/use-cases/recounts/run-recount.ts';
import { httpEvent, noContext } from '../../support/http-event.ts';
import { tokenRecord } from '../../support/token-record.ts';
import { type Asked, Counter, tenant } from './counting.ts';

const repo = 'app';
const manager = `lfsq_${'m'.repeat(40)}`;
/** Else it would be more than a minute by its clock, and go on in a second run. */
const quick = { tableMs: 1, headMs: 1, listMs: 1 };

const calls = (operation: Operation) =>
  Object.fromEntries(Object.entries(operation.calls).filter(([, count]) => count > 0));
const rounds = ({ tableRounds, headRounds, listRounds }: Omit<Asked, 'calls'>) =>
  tableRounds + headRounds + listRounds;

function expectModelled(asked: Asked, operation: Operation): void {
  expect(asked.calls).toEqual(calls(operation));
  expect(rounds(asked)).toBe(rounds(operation));
}

describe('the calls of a clean-up are those of the model', () => {
  it.each<CleanUpShape>([
    { repoObjects: 400, gone: 0 },
    { repoObjects: 400, gone: 100 },
    { repoObjects: 1000, gone: 1000 },
  ])('of a repo of $repoObjects objects, of which $gone go', async (shape) => {
    const made = await Counter.create(quick);
    await made.tokens.put(tokenRecord(manager, { tenant, scope: 'manage', lastUsedAtMs: 9e15 }));
    const oids = Array.from({ length: shape.repoObjects }, (_, index) => sha256Hex(`object ${index}`));
    for (const oid of oids) made.store.put(`${tenant}/${repo}/${oid}`, 1000, undefined, 1);
    const consume = (full: boolean) =>
      made.ask(() =>
        runRecount(made.deps, {
          request: { tenant, reason: 'delete', full },
          deadlineMs: made.deps.clock.nowMs() + 1e12,
        }),
      );
    const ask = async (method: string, rest: string, body?: object) => {
      const { result, asked } = await made.ask(async () =>
        create(made.deps)(
          httpEvent({
            method,
            routeKey: `${method} /v1/tenants/{tenant}/repos/{repo}/cleanup${rest}`,
            headers: { authorization: `Bearer ${manager}`, 'content-type': 'application/json' },
            pathParameters: { tenant, repo },
            ...(body && { body: JSON.stringify(body) }),
          }),
          noContext,
        ),
      );
      expect((result as { statusCode: number }).statusCode).toBeLessThan(300);
      return asked;
    };
    await consume(true);
    expectModelled(await ask('POST', '', {}), openCleanUp());
    await made.advance(25 * 3_600_000);
    // It would be due with the run.
    await consume(true);
    const keep = prefixesOf(oids.slice(shape.gone));
    const keepSet = { objects: shape.repoObjects - shape.gone, sha256: sha256Hex(keep) };
    expectModelled(await ask('POST', '/keep-set', keepSet), signKeepSet());
    const watchId = (await made.ledger.readCleanup({ tenant, repo }))?.watch.id ?? '';
    await made.ask(() => made.deps.archives.put(keepSetKey({ tenant, watchId }, keepSet.sha256), keep));
    const wish = { keepSet, dryRun: false, force: true, minAgeDays: 0 };
    expectModelled(await ask('POST', '/run', wish), startCleanUp());
    expectModelled(await ask('GET', ''), showCleanUp());
    expectModelled((await consume(false)).asked, cleanUpRun(shape));
    expect(made.store.objectCount).toBe(shape.repoObjects - shape.gone);
  });
});

describe('a month with clean-ups', () => {
  const basis = { cloud: cloudPrices, store: s3Prices, durations: assumedDurations };
  const lines = (more: object) =>
    monthlyCost({ ...defaultWorkload, ...more }).lines.filter(({ what }) => what.startsWith('clean-up: '));

  it('has none by default', () => {
    for (const { cost } of lines({})) expect(totalOf(cost)).toBe(0);
  });

  it('has what is counted once, for each of them', () => {
    const [asked, run, named] = lines({ tenants: 10, cleanUpsPerTenant: 2, objectsPerCleanUp: 250 });
    const sizes = { claims: 20, reservations: 1, repos: 4, isFull: false, due: 0 };
    const once = cleanUpCost({ repoObjects: 1000, gone: 250 }, { polls: 15, sizes, basis });
    expect(asked?.timesPerMonth).toBe(20);
    expect(asked?.cost.store).toBeCloseTo(20 * 5e-6, 9);
    // Two of the clean-up's item and two in the index, twice; the watch; three audited requests.
    expect(asked?.cost.table).toBeCloseTo(
      20 * ((2 * 4 + 1 + 3 * 2) * 0.625e-6 + (3 * 3 + 1 + 15 * 3) * 0.125e-6),
      9,
    );
    expect(totalOf(run?.cost ?? once.run)).toBeCloseTo(20 * totalOf(once.run), 6);
    // A thirtieth of 60 pushes, in one of four repos. A batch of 20 objects names them in one unit.
    expect(named?.timesPerMonth).toBeCloseTo((20 * 60) / 30 / 4, 9);
    expect(totalOf(named?.cost ?? once.run)).toBeCloseTo(10 * 0.625e-6, 12);
  });

  it('costs a write for each object that goes, and a deletion of 1,000 objects its size three times', () => {
    const sizes = { claims: 20, reservations: 0, repos: 4, isFull: false, due: 0 };
    const run = (gone: number) =>
      cleanUpCost({ repoObjects: 1000, gone }, { polls: 0, sizes, basis }).run.table / 0.625e-6;
    // 71,400 bytes: 70 units, and 1, 2 and 2 in the index. Announced, removed, dirty; the clean-up's item. Six reads.
    const piece = 1_000 + 3 * 70 + 5 + 3 + 4 + 6 / 5;
    expect(run(2_000) - run(1_000)).toBeCloseTo(piece, 6);
  });
});
