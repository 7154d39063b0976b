import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type AdoptedRepo, storedNameOf } from '../../lambda/core/store/rules/adopted-repos.ts';
import { startEmbeddedStack } from '../../local/start.ts';
import { Api, expectProblem, jsonOf, type TestTenant } from '../blackbox/api.ts';
import { ask, type LfsObject, objectOf, push } from '../blackbox/lfs.ts';
import { subscriptionOf } from '../blackbox/subscription.ts';
import { useChildStacks } from '../support/child-stack.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { StoreAccess } from './store-access.ts';

const tempFolder = useTempFolders();
const spawnStack = useChildStacks();
const quick = { quietMs: 50, quietMaxMs: 100, spacingMs: 100 };
const patience = { timeout: 120_000, interval: 100 };
/** Objects can be deleted as soon as they are stored. */
const settings = { deleteGraceMs: 0, gcWatchMs: 0 };

const fanned: AdoptedRepo = { tenant: 'acme', repo: 'game', path: '', names: 'ab/cd/rest' };
const flat: AdoptedRepo = { tenant: 'acme', repo: 'art', path: 'Org/Art/', names: 'oid' };

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function start(adoptedRepos: readonly AdoptedRepo[], dataDir = tempFolder()) {
  const options = { port: 0, dataDir, queueTiming: quick, settings, createDemo: false };
  const stack = await startEmbeddedStack({ ...options, adoptedRepos });
  const store = new StoreAccess(stack);
  closing.push(async () => {
    store.close();
    await stack.close();
  });
  return { stack, store, api: new Api({ url: stack.url, adminToken: stack.adminToken }) };
}

const storedKey = ({ path, names }: AdoptedRepo, { oid }: LfsObject) => path + storedNameOf(names, oid);

/** The tenant of which repos are adopted. */
async function acmeOf(api: Api): Promise<TestTenant> {
  const made = await api.manage('POST', '/v1/tenants', { tenant: 'acme', limitBytes: 1_000_000 });
  expect(made.status, made.text).toBe(201);
  const { token: writeToken } = await api.newToken('acme', { scope: 'write' });
  const { token: readToken } = await api.newToken('acme', { scope: 'read' });
  return { tenant: 'acme', writeToken, readToken };
}

const reconcile = (api: Api) => api.manage('POST', '/v1/tenants/acme/reconcile');

async function bytesAt(href: string | null | undefined): Promise<Buffer> {
  const answer = await fetch(href ?? '');
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

async function expectStored(api: Api, expected: { objectCount: number; storedBytes: number }) {
  await vi.waitFor(async () => {
    await reconcile(api);
    expect((await subscriptionOf(api, 'acme')).usage).toMatchObject(expected);
  }, patience);
}

async function listed(api: Api) {
  const answer = await api.manage('GET', '/v1/tenants/acme/objects');
  return jsonOf(answer) as { objects: { repo: string; oid: string }[]; others: unknown[] };
}

describe('a bucket that another server has laid out', () => {
  it('is counted, served and written as a repo, and others are not in its way', async () => {
    const { api, store } = await start([fanned]);
    const [there, pushed, beside] = [objectOf(70), objectOf(30), objectOf(5)];
    await store.put(storedKey(fanned, there), there.content);
    await store.put('tmp/upload/1', Buffer.from('of the other server'));
    await store.put(`acme/game/${beside.oid}`, beside.content);
    const acme = await acmeOf(api);
    const other = await api.newTenant();
    await push(api, { ...other, repo: 'game' }, [beside]);
    await expectStored(api, { objectCount: 1, storedBytes: 70 });

    const place = { ...acme, repo: 'game' };
    const { actions } = await ask(api, place, 'download', there);
    const download = await bytesAt(actions?.download?.href);
    expect(download.equals(there.content)).toBe(true);
    // It need not be sent again, and what lies hidden at the repo's own path does not stand for it.
    expect((await ask(api, place, 'upload', there)).actions).toBeUndefined();
    expect((await ask(api, place, 'download', beside)).error?.code).toBe(404);

    await push(api, place, [pushed]);
    expect(await store.keys(storedKey(fanned, pushed))).toHaveLength(1);
    await expectStored(api, { objectCount: 2, storedBytes: 100 });
    const { objects, others } = await listed(api);
    expect(objects.map(({ repo, oid }) => [repo, oid]).sort()).toEqual(
      [there, pushed].map(({ oid }) => ['game', oid]).sort(),
    );
    expect(others).toEqual([]);
  });

  it('loses exactly the object that is deleted', async () => {
    const { api, store } = await start([fanned]);
    const [kept, gone] = [objectOf(10), objectOf(90)];
    for (const object of [kept, gone]) await store.put(storedKey(fanned, object), object.content);
    await store.put(`acme/game/${gone.oid}`, gone.content);
    await acmeOf(api);
    await expectStored(api, { objectCount: 2, storedBytes: 100 });
    const deleted = await api.manage('DELETE', `/v1/tenants/acme/repos/game/objects/${gone.oid}`);
    expect(deleted.status, deleted.text).toBe(202);
    await expectStored(api, { objectCount: 1, storedBytes: 10 });
    expect((await store.keys('')).sort()).toEqual([storedKey(fanned, kept), `acme/game/${gone.oid}`].sort());
  });

  it('is emptied if the repo is deleted, but for what is none of its objects', async () => {
    const { api, store } = await start([fanned]);
    const objects = Array.from({ length: 120 }, (_, index) => objectOf(index + 1));
    for (const object of objects) await store.put(storedKey(fanned, object), object.content);
    await store.put('ab/cd/readme', Buffer.from('not of the layout'));
    await acmeOf(api);
    await expectStored(api, { objectCount: 120, storedBytes: 7260 });
    // The whole tenant must not go by its name alone.
    expectProblem(await api.manage('DELETE', '/v1/tenants/acme'), 409);
    expectProblem(await api.manage('DELETE', '/v1/tenants/acme?dryRun=true'), 409);
    expect(await store.keys('')).toHaveLength(121);
    const deleted = await api.manage('DELETE', '/v1/tenants/acme/repos/game');
    expect(jsonOf(deleted)).toMatchObject({ objectCount: 120, bytes: 7260 });
    await expectStored(api, { objectCount: 0, storedBytes: 0 });
    expect(await store.keys('')).toEqual(['ab/cd/readme']);
  });

  it('is exported', async () => {
    const { api, store } = await start([flat]);
    const [one, two] = [objectOf(1000), objectOf(2000)];
    await store.put(storedKey(flat, one), one.content);
    const acme = await acmeOf(api);
    await push(api, { ...acme, repo: 'own' }, [two]);
    const started = await api.manage('POST', '/v1/tenants/acme/exports', { format: 'tar' });
    expect(started.status, started.text).toBe(202);
    const { exportId } = jsonOf(started) as { exportId: string };
    type Job = { state: string; archives: { url: string | null }[] };
    let job: Job | undefined;
    await vi.waitFor(async () => {
      job = jsonOf(await api.manage('GET', `/v1/tenants/acme/exports/${exportId}`)) as Job;
      expect(job).toMatchObject({ state: 'done', plan: { objectCount: 2 } });
    }, patience);
    const archive = await bytesAt(job?.archives[0]?.url);
    expect([one, two].map(({ content }) => archive.includes(content))).toEqual([true, true]);
  });

  it('cannot be reached by a tenant of another name', async () => {
    const { api } = await start([{ ...fanned, path: 'lfs/' }]);
    const refused = await api.manage('POST', '/v1/tenants', { tenant: 'lfs' });
    expectProblem(refused, 409);
    expect(jsonOf(refused)).toMatchObject({ code: 'tenant-name-reserved' });
    const headers = { 'idempotency-key': 'again-and-again' };
    for (let turn = 0; turn < 2; turn += 1) {
      const keyed = await api.send({
        method: 'POST',
        path: '/v1/tenants',
        headers: {
          ...headers,
          authorization: `Bearer ${api.target.adminToken}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ tenant: 'lfs' }),
      });
      expect(jsonOf(keyed)).toMatchObject({ code: 'tenant-name-reserved' });
    }
    const other = await api.newTenant();
    const stranger = { ...other, tenant: 'lfs', repo: 'ab' };
    const asked = ask(api, stranger, 'download', objectOf(1)).catch((error: unknown) => error);
    expect(await asked).toBeInstanceOf(Error);
  });

  it('is a repo again when it is given back, with what lay at its own path', async () => {
    const dataDir = tempFolder();
    const adopted = await start([fanned], dataDir);
    const [there, own] = [objectOf(70), objectOf(7)];
    await adopted.store.put(storedKey(fanned, there), there.content);
    await adopted.store.put(`acme/game/${own.oid}`, own.content);
    await acmeOf(adopted.api);
    await expectStored(adopted.api, { objectCount: 1, storedBytes: 70 });
    for (const close of closing.splice(0)) await close();
    const without = await start([], dataDir);
    await expectStored(without.api, { objectCount: 1, storedBytes: 7 });
    const deleted = await without.api.manage('DELETE', '/v1/tenants/acme');
    expect(deleted.status, deleted.text).toBe(202);
    await vi.waitFor(async () => {
      await reconcile(without.api);
      expect(await without.store.keys('')).toEqual([storedKey(fanned, there)]);
    }, patience);
  });

  it('is not started where a tenant has the name already, and says so', async () => {
    const dataDir = tempFolder();
    const before = await start([], dataDir);
    expect((await before.api.manage('POST', '/v1/tenants', { tenant: 'lfs' })).status).toBe(201);
    for (const close of closing.splice(0)) await close();
    const path = join(tempFolder(), 'adopted.json');
    writeFileSync(path, JSON.stringify([{ ...fanned, path: 'lfs/' }]));
    const refused = spawnStack(['--port', '0', '--data', dataDir, '--adopt', path]);
    expect(await refused.ended()).toMatchObject({ exitCode: 1 });
    expect(refused.output.err).toContain('starts with lfs/, and lfs is a tenant here.');

    writeFileSync(path, JSON.stringify([{ ...fanned, path: 'demo/' }]));
    const demo = spawnStack(['--port', '0', '--data', tempFolder(), '--adopt', path]);
    expect(await demo.ended()).toMatchObject({ exitCode: 1 });
    expect(demo.output.err).toContain('starts with demo/, and demo is a tenant here.');

    writeFileSync(path, '[{}]');
    const broken = spawnStack(['--port', '0', '--data', dataDir, '--adopt', path]);
    expect(await broken.ended()).toMatchObject({ exitCode: 1 });
    expect(broken.output.err).toMatch(/^error: Can't use --adopt .*adopted\.json: Entry 1 of/m);
    const missing = spawnStack(['--port', '0', '--data', dataDir, '--adopt', `${path}.none`]);
    expect(await missing.ended()).toMatchObject({ exitCode: 1 });
    expect(missing.output.err).toContain('adopted.json.none: ENOENT');
  });
});
