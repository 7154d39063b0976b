import { describe, expect, it } from 'vitest';
import { memoryMb } from '../../../cost/operation-cost.ts';
import {
  cachedSubscription,
  deferredRecount,
  downloadBatch,
  missedSubscription,
  type Operation,
  recount,
  refresh,
  uploadBatch,
  verify,
  verifyLocks,
} from '../../../cost/operations.ts';
import { defaultWorkload } from '../../../cost/workload.ts';
import { sha256Hex } from '../../../lambda/domain/hash.ts';
import { lookAgainMs } from '../../../lambda/domain/refresh-state.ts';
import { defaultSettings } from '../../../lambda/domain/settings.ts';
import { create as createSubscription } from '../../../lambda/handlers/get-subscription.ts';
import { create as createBatch } from '../../../lambda/handlers/lfs-batch.ts';
import { create as createLocks } from '../../../lambda/handlers/lfs-locks.ts';
import { create as createVerify } from '../../../lambda/handlers/lfs-verify.ts';
import { refresh as runRefresh } from '../../../lambda/use-cases/recounts/refresh.ts';
import { runRecount } from '../../../lambda/use-cases/recounts/run-recount.ts';
import { parseStageSettings } from '../../../lib/settings/parse-stage-settings.ts';
import { httpEvent, noContext } from '../../support/http-event.ts';
import { type Asked, Counter, tenant, token } from './counting.ts';

const oid = (index: number) => sha256Hex(`object ${index}`);
const sizeBytes = 1000;

/** The calls of the model, without those that happen zero times. */
function modelled({ calls, tableRounds, headRounds, listRounds }: Operation): Asked {
  const asked = Object.fromEntries(Object.entries(calls).filter(([, count]) => count > 0));
  return { calls: asked, tableRounds, headRounds, listRounds };
}

const lfsEvent = (path: string, presented: string, body: unknown, repo = 'app.git') =>
  httpEvent({
    path,
    headers: { authorization: `Bearer ${presented}`, 'content-type': 'application/vnd.git-lfs+json' },
    pathParameters: { tenant, repo },
    body: JSON.stringify(body),
  });

/** Sends a batch request through the handler. */
async function askBatch(
  made: Counter,
  operation: 'upload' | 'download',
  count: number,
  repo = 'app',
  from = 0,
) {
  const objects = Array.from({ length: count }, (_, index) => ({ oid: oid(from + index), size: sizeBytes }));
  const event = lfsEvent('/batch', token, { operation, objects }, `${repo}.git`);
  const { result, asked } = await made.ask(async () => createBatch(made.deps)(event, noContext));
  const answer = result as { statusCode: number; body: string };
  expect(answer.statusCode).toBe(200);
  const body = JSON.parse(answer.body) as {
    objects: { actions?: Record<string, { header?: Record<string, string> }> }[];
  };
  for (const object of body.objects) expect(object.actions?.[operation]).toBeDefined();
  const verifies = body.objects.flatMap(({ actions }) => actions?.['verify'] ?? []);
  return { asked, verifyToken: verifies[0]?.header };
}

function store(made: Counter, count: number, repo = 'app'): void {
  for (let index = 0; index < count; index += 1) made.store.put(`${tenant}/${repo}/${oid(index)}`, sizeBytes);
}

const consume = (made: Counter, full: boolean) =>
  made.ask(() =>
    runRecount(made.deps, {
      request: { tenant, reason: 'upload', full },
      deadlineMs: made.deps.clock.nowMs() + 1e12,
    }),
  );

describe('the calls of each operation are those of the model', () => {
  it.each([1, 20, 100, 300])('a batch to upload %i new objects', async (count) => {
    const made = await Counter.create();
    expect((await askBatch(made, 'upload', count)).asked).toEqual(modelled(uploadBatch(count)));
  });

  it.each([1, 100, 300])('a batch to download %i objects', async (count) => {
    const made = await Counter.create();
    store(made, count);
    expect((await askBatch(made, 'download', count)).asked).toEqual(modelled(downloadBatch(count)));
  });

  it.each([
    [100, 900],
    [100, 4000],
    [12, 900],
  ])('a batch of %i objects to and from a repo of %i', async (count, stored) => {
    // One for each batch: a LIST takes minutes on its clock, and a store that lists slowly is asked by HEAD.
    const counted = async () => {
      const made = await Counter.create();
      store(made, stored);
      await consume(made, true);
      return made;
    };
    const existing = await askBatch(await counted(), 'download', count);
    expect(existing.asked).toEqual(modelled(downloadBatch(count, stored)));
    const fresh = await askBatch(await counted(), 'upload', count, 'app', stored);
    expect(fresh.asked).toEqual(modelled(uploadBatch(count, stored)));
  });

  it('a verify', async () => {
    const made = await Counter.create();
    const { verifyToken } = await askBatch(made, 'upload', 2);
    store(made, 2);
    const presented = Object.values(verifyToken ?? {})[0]?.replace(/^\w+ /, '') ?? '';
    const event = lfsEvent('/verify', presented, { oid: oid(1), size: sizeBytes });
    const { result, asked } = await made.ask(async () => createVerify(made.deps)(event, noContext));
    expect(result).toMatchObject({ statusCode: 200 });
    expect(asked).toEqual(modelled(verify()));
  });

  it('a look for file locks', async () => {
    const made = await Counter.create();
    const routeKey = 'POST /{tenant}/{repo}/info/lfs/locks/verify';
    const event = { ...lfsEvent('/locks/verify', token, { ref: { name: 'refs/heads/main' } }), routeKey };
    const { result, asked } = await made.ask(async () => createLocks(made.deps)(event, noContext));
    expect(result).toMatchObject({ statusCode: 200 });
    expect(asked).toEqual(modelled(verifyLocks()));
  });

  it('a recount after a push scans the repo that was pushed to, and no other', async () => {
    const made = await Counter.create();
    for (const repo of ['a', 'b']) {
      await askBatch(made, 'upload', 3, repo);
      store(made, 3, repo);
    }
    await consume(made, false);
    await askBatch(made, 'upload', 2, 'c');
    await consume(made, false);
    store(made, 2, 'c');
    const repos = [2];
    expect((await consume(made, false)).asked).toEqual(modelled(recount({ repos, isFull: false, dead: 0 })));
  });

  it('a recount after one that saw everything lists nothing', async () => {
    const made = await Counter.create();
    await askBatch(made, 'upload', 3);
    store(made, 3);
    await consume(made, false);
    expect((await consume(made, false)).asked).toEqual(
      modelled(recount({ repos: [], isFull: false, dead: 0 })),
    );
  });

  it('a recount of a push that is not over scans again', async () => {
    const made = await Counter.create();
    await askBatch(made, 'upload', 5);
    store(made, 3);
    await consume(made, false);
    const repos = [3];
    expect((await consume(made, false)).asked).toEqual(modelled(recount({ repos, isFull: false, dead: 0 })));
  });

  it('a recount that deletes dead reservations lists nothing', async () => {
    const made = await Counter.create();
    await askBatch(made, 'upload', 100);
    await askBatch(made, 'upload', 100);
    store(made, 100);
    await consume(made, false);
    await made.advance(3_600_000);
    const { due } = await made.ledger.dueTenants({ untilMs: made.deps.clock.nowMs(), tenantsMax: 9 });
    expect(due).toHaveLength(1);
    expect((await consume(made, false)).asked).toEqual(
      modelled(recount({ repos: [], isFull: false, dead: 2 })),
    );
    expect(made.ledger.inspect(tenant).reservations).toEqual([]);
  });

  it('a deferred recount lists nothing, and is sent again', async () => {
    const made = await Counter.create();
    const deps = { ...made.deps, settings: { ...made.deps.settings, recountRestMs: 3_600_000 } };
    const request = { tenant, reason: 'upload', full: false } as const;
    const deadlineMs = made.deps.clock.nowMs() + 1e12;
    const { asked, result } = await made.ask(() => runRecount(deps, { request, deadlineMs }));
    expect(result).toBe('requeued');
    expect(asked).toEqual(modelled(deferredRecount()));
  });

  it('a full count lists the folders, and every repo', async () => {
    const made = await Counter.create();
    for (const repo of ['a', 'b', 'c']) store(made, 2, repo);
    store(made, 3000, 'd');
    await consume(made, true);
    const repos = [2, 2, 2, 3000];
    const { asked } = await consume(made, true);
    expect(asked).toEqual(modelled(recount({ repos, isFull: true, dead: 0 })));
  });

  it('the console’s read: cached, and counted in full if the count is a day old', async () => {
    const made = await Counter.create();
    for (const repo of ['a', 'b']) store(made, 2, repo);
    await consume(made, true);
    const event = httpEvent({
      method: 'GET',
      headers: { authorization: `Bearer ${token}` },
      pathParameters: { tenant },
    });
    const read = () => made.ask(async () => createSubscription(made.deps)(event, noContext));
    const cached = await read();
    expect(cached.result).toMatchObject({ statusCode: 200 });
    expect(cached.asked).toEqual(modelled(cachedSubscription()));
    await made.advance(defaultSettings.maxAgeMs + 1);
    const repos = [2, 2];
    expect((await read()).asked).toEqual(modelled(missedSubscription({ repos, dead: 0 })));
  });

  it('the schedule queries the table once, and sends one message for each tenant that is due', async () => {
    const made = await Counter.create();
    const account = { plan: null, limitBytes: null, createdAtMs: 0, counted: null };
    for (let index = 0; index < 20; index += 1)
      await made.ledger.createTenant({ ...account, tenant: `due${index}`, dueAtMs: 1 });
    await made.advance(3_600_000);
    expect((await made.ask(() => runRefresh(made.deps))).asked).toEqual(modelled(refresh(20)));
    // They are still due, and in the next round it looks at them.
    await made.advance(lookAgainMs);
    expect((await made.ask(() => runRefresh(made.deps))).asked).toEqual(modelled(refresh(0, 20)));
  });
});

describe('the settings of the model are the defaults', () => {
  const stage = parseStageSettings('prod', {});

  it('of a stage', () => {
    expect(memoryMb).toEqual(stage.memoryMb);
    expect(defaultWorkload.refresh.everyMinutes).toBe(stage.refreshEveryMinutes);
    expect(stage.reconcile.delaySeconds).toBe(35);
  });

  it('of the protocol', () => {
    expect(defaultWorkload.refresh.maxAgeHours * 3_600_000).toBe(defaultSettings.maxAgeMs);
    expect(defaultWorkload.refresh.tenantsPerRunMax).toBe(defaultSettings.refreshTenantsMax);
    expect(defaultSettings.scanConcurrency).toBe(128);
  });
});
