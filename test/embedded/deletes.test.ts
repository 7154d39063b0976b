import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Settings } from '../../lambda/core/rules/settings.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../local/start.ts';
import { Api, expectLfsError, expectProblem, jsonOf, newName, type TestTenant } from '../blackbox/api.ts';
import { admitted, ask, objectOf, pointer, postBatch, push, put } from '../blackbox/lfs.ts';
import { subscriptionOf } from '../blackbox/subscription.ts';
import { recordingLog } from '../support/recording-log.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { StoreAccess } from './store-access.ts';

const tempFolder = useTempFolders();
/** Reservations that expire within seconds, so that the test sees the deletion of their objects. */
const short: Partial<Settings> = {
  urlLifetimeMs: 2_000,
  reservationSlackMs: 500,
  putGraceMs: 500,
  clockSkewMs: 100,
  batchTimeLimitMs: 1_000,
  listingTrustMs: 100,
  pendingVoidAfterMs: 1_500,
  deleteGraceMs: 0,
};
const quick = { quietMs: 50, quietMaxMs: 100, spacingMs: 100 };
const patience = { timeout: 120_000, interval: 100 };

interface Running {
  readonly stack: EmbeddedStack;
  readonly api: Api;
  readonly store: StoreAccess;
}

const running: Running[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const { stack, store } of running.splice(0)) {
    store.close();
    await stack.close();
  }
});

async function start(
  settings: Partial<Settings>,
  more: Partial<Parameters<typeof startEmbeddedStack>[0]> = {},
): Promise<Running> {
  const options = { port: 0, dataDir: tempFolder(), settings: { ...short, ...settings }, queueTiming: quick };
  const stack = await startEmbeddedStack({ ...options, createDemo: false, ...more });
  const api = new Api({ url: stack.url, adminToken: stack.adminToken });
  const started = { stack, api, store: new StoreAccess(stack) };
  running.push(started);
  return started;
}

async function erase(api: Api, path: string): Promise<unknown> {
  const answer = await api.manage('DELETE', `/v1/tenants/${path}`);
  expect(answer.status, answer.text).toBe(202);
  return jsonOf(answer);
}

/** Does what the schedule does every 15 minutes. */
const reconcile = (api: Api, { tenant }: TestTenant) => api.manage('POST', `/v1/tenants/${tenant}/reconcile`);

describe('an object that is deleted on the embedded stack', () => {
  it('is gone at once without a grace time and upload URLs, and its bytes are free', async () => {
    const { api, store } = await start({});
    const tenant = newName();
    const [kept, gone] = [objectOf(10), objectOf(90)];
    for (const { oid, content } of [kept, gone]) await store.put(`${tenant}/game/${oid}`, content);
    await api.manage('POST', '/v1/tenants', { tenant, limitBytes: 100 });
    await subscriptionOf(api, tenant);
    await erase(api, `${tenant}/repos/game/objects/${gone.oid}`);
    await vi.waitFor(async () => {
      const { usage } = await subscriptionOf(api, tenant);
      expect(usage).toMatchObject({ storedBytes: 10, objectCount: 1, committedBytes: 10 });
    }, patience);
    expect(await store.keys(`${tenant}/`)).toEqual([`${tenant}/game/${kept.oid}`]);
    expectProblem(await api.manage('DELETE', `/v1/tenants/${tenant}/repos/game/objects/${gone.oid}`), 404);
  });

  it('stays while an upload URL could bring it back, and is gone after that', async () => {
    const { api, store } = await start({});
    const own = await api.newTenant();
    const object = objectOf(50);
    await push(api, { ...own, repo: 'game' }, [object]);
    await erase(api, `${own.tenant}/repos/game/objects/${object.oid}`);
    await reconcile(api, own);
    await vi.waitFor(async () => {
      expect((await subscriptionOf(api, own.tenant)).usage?.objectCount).toBe(1);
    }, patience);
    expect(await store.keys(`${own.tenant}/`)).toHaveLength(1);
    await vi.waitFor(async () => {
      await reconcile(api, own);
      expect((await subscriptionOf(api, own.tenant)).usage).toMatchObject({
        storedBytes: 0,
        objectCount: 0,
        committedBytes: 0,
      });
    }, patience);
    expect(await store.keys(`${own.tenant}/`)).toEqual([]);
  });

  it('is kept if it is pushed again within the grace time, as the client was told', async () => {
    const { api, store } = await start({ deleteGraceMs: 600_000 });
    const own = await api.newTenant();
    const place = { ...own, repo: 'game' };
    const [kept, gone] = [objectOf(50), objectOf(60)];
    await push(api, place, [kept, gone]);
    for (const { oid } of [kept, gone]) await erase(api, `${own.tenant}/repos/game/objects/${oid}`);
    expect((await ask(api, place, 'upload', kept)).actions).toBeUndefined();
    // Ten minutes later, however long that took. The store takes a clock that is 15 minutes off.
    const now = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 600_000);
    await vi.waitFor(async () => {
      await reconcile(api, own);
      expect(await store.keys(`${own.tenant}/`)).toEqual([`${own.tenant}/game/${kept.oid}`]);
    }, patience);
    expect((await ask(api, place, 'upload', kept)).actions).toBeUndefined();
    expect((await ask(api, place, 'upload', gone)).actions?.upload).toBeDefined();
  });
});

describe('a repo that is deleted on the embedded stack', () => {
  it('is gone with the objects that arrive late, and its name can be used again', async () => {
    const { api, store } = await start({});
    const own = await api.newTenant({ limitBytes: 1000 });
    const place = { ...own, repo: 'game' };
    const [pushed, late, other] = [objectOf(100), objectOf(200), objectOf(300)];
    await push(api, place, [pushed]);
    await push(api, { ...own, repo: 'game2' }, [other]);
    const { upload } = await admitted(api, place, late);
    await erase(api, `${own.tenant}/repos/game`);
    expect((await put(api, upload, late.content)).status).toBe(200);
    const batch = { operation: 'upload', objects: [pointer(pushed)] };
    expectLfsError(await postBatch(api, place, batch), 404);

    await vi.waitFor(async () => {
      await reconcile(api, own);
      const { usage, repos } = await subscriptionOf(api, own.tenant);
      expect(usage).toMatchObject({ storedBytes: 300, objectCount: 1, committedBytes: 300 });
      expect(repos.map(({ repo }) => repo)).toEqual(['game2']);
    }, patience);
    expect(await store.keys(`${own.tenant}/`)).toEqual([`${own.tenant}/game2/${other.oid}`]);
    await push(api, place, [pushed]);
    expect(await store.keys(`${own.tenant}/game/`)).toEqual([`${own.tenant}/game/${pushed.oid}`]);
  });

  it('is emptied even if it has more objects than one deletion can list, whatever their names', async () => {
    const { api, store } = await start({});
    const tenant = newName();
    const names = Array.from({ length: 1100 }, (_, index) => `${index % 7 === 0 ? 'ä/' : ''}${index}`);
    for (let from = 0; from < names.length; from += 50) {
      const some = names.slice(from, from + 50);
      await Promise.all(some.map((name) => store.put(`${tenant}/game/${name}`, Buffer.from('x'))));
    }
    await api.manage('POST', '/v1/tenants', { tenant });
    await erase(api, `${tenant}/repos/game`);
    await vi.waitFor(async () => {
      const { usage } = await subscriptionOf(api, tenant);
      expect(usage).toMatchObject({ storedBytes: 0, objectCount: 0, committedBytes: 0 });
    }, patience);
    expect(await store.keys(`${tenant}/`)).toEqual([]);
  });

  it('is emptied further after a restart', async () => {
    const dataDir = tempFolder();
    const slow = { quietMs: 60_000, quietMaxMs: 60_000, spacingMs: 60_000 };
    const first = await start({}, { dataDir, queueTiming: slow });
    const tenant = newName();
    await first.api.manage('POST', '/v1/tenants', { tenant });
    await reconcile(first.api, { tenant, readToken: '', writeToken: '' });
    await first.store.put(`${tenant}/game/x`, Buffer.from('x'));
    await erase(first.api, `${tenant}/repos/game`);
    await first.stack.close();
    const second = await start({}, { dataDir });
    await vi.waitFor(async () => expect(await second.store.keys(`${tenant}/`)).toEqual([]), patience);
  });
});

describe('a tenant that is deleted on the embedded stack', () => {
  it('loses tokens and objects, and keeps its name', async () => {
    const { log, entries } = recordingLog();
    const { api, store } = await start({}, { log });
    const tenant = newName();
    const beside = ['unknown to us/x', 'beside', '/nameless', 'game/not-an-oid'];
    for (const path of beside) await store.put(`${tenant}/${path}`, Buffer.from(path));
    await store.put(`${tenant}2/game/x`, Buffer.from('of another'));
    await api.manage('POST', '/v1/tenants', { tenant });
    const [write, read] = [
      await api.newToken(tenant, { scope: 'write' }),
      await api.newToken(tenant, { scope: 'read' }),
    ];
    const own = { tenant, writeToken: write.token, readToken: read.token };
    await push(api, { ...own, repo: 'game' }, [objectOf(70)]);
    const late = objectOf(80);
    const { upload } = await admitted(api, { ...own, repo: 'fresh' }, late);

    await erase(api, tenant);
    expect((await put(api, upload, late.content)).status).toBe(200);
    const batch = { operation: 'download', objects: [pointer(objectOf(1))] };
    expectLfsError(await postBatch(api, { ...own, repo: 'game' }, batch), 401);
    const shown = await api.manage('GET', `/v1/tenants/${tenant}`);
    expect([shown.status, jsonOf(shown)]).toMatchObject([200, { deleting: true }]);

    await vi.waitFor(async () => {
      await reconcile(api, own);
      expect((await api.manage('GET', `/v1/tenants/${tenant}`)).status).toBe(404);
    }, patience);
    expect(await store.keys(`${tenant}/`)).toEqual([]);
    expect(await store.keys(`${tenant}2/`)).toHaveLength(1);
    expect((await api.manage('GET', '/v1/tenants')).text).not.toContain(tenant);
    expectProblem(await api.manage('POST', '/v1/tenants', { tenant }), 409, /can't be reused/);
    expectProblem(await api.manage('DELETE', `/v1/tenants/${tenant}`), 404);
    expect(entries.filter(({ level }) => level !== 'info')).toEqual([]);
  });
});
