import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ServerMetrics } from '../../local/metrics.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../local/start.ts';
import { Api, jsonOf, newName, type TestTenant } from '../blackbox/api.ts';
import { ask, type LfsObject, objectOf, type Place, push } from '../blackbox/lfs.ts';
import { subscriptionOf } from '../blackbox/subscription.ts';
import { recordingLog } from '../support/recording-log.ts';
import { useTempFolders } from '../support/temp-folder.ts';

const tempFolder = useTempFolders();
const patience = { timeout: 60_000, interval: 100 };
const metrics = () => new ServerMetrics();

let stack: EmbeddedStack | undefined;
afterEach(async () => {
  await stack?.close();
  stack = undefined;
});

async function start(dataDir: string, more: Partial<Parameters<typeof startEmbeddedStack>[0]> = {}) {
  const queueTiming = { quietMs: 50, quietMaxMs: 100, spacingMs: 100 };
  stack = await startEmbeddedStack({ port: 0, dataDir, queueTiming, createDemo: false, ...more });
  return new Api({ url: stack.url, adminToken: stack.adminToken });
}

/** A server with a repo of three objects, of which one will be damaged. */
async function withObjects(more: Partial<Parameters<typeof startEmbeddedStack>[0]> = {}) {
  const dataDir = tempFolder();
  const api = await start(dataDir, more);
  const place: Place = { ...(await api.newTenant()), repo: 'game' };
  const objects = [objectOf(70_000), objectOf(1_000), objectOf(300_000)] as const;
  await push(api, place, objects);
  const fileOf = ({ oid }: LfsObject) => {
    const key = createHash('sha256').update(`${place.tenant}/game/${oid}`).digest('hex');
    return path.join(dataDir, 'store', 'objects', key.slice(0, 2), key.slice(2));
  };
  return {
    dataDir,
    api,
    place,
    objects,
    file: fileOf(objects[0]),
    key: `${place.tenant}/game/${objects[0].oid}`,
  };
}

const damages: [string, (file: string) => Promise<unknown>][] = [
  ['lost', (file) => rm(file)],
  ['cut', (file) => truncate(file, 5_000)],
  [
    'changed in one bit',
    async (file) => {
      const bytes = await readFile(file);
      bytes[30_000] = (bytes[30_000] ?? 0) ^ 1;
      await writeFile(file, bytes);
    },
  ],
];

async function pull(api: Api, place: Place, object: LfsObject): Promise<number | undefined> {
  const { actions } = await ask(api, place, 'download', object);
  return actions?.download && (await api.follow(actions.download.href, { method: 'GET' })).status;
}

const storePart = async (api: Api) => {
  const { parts } = jsonOf(await api.manage('GET', '/v1/status')) as {
    parts: { part: string; state: string }[];
  };
  return parts.find(({ part }) => part === 'store');
};

const storedBytes = async (api: Api, { tenant }: TestTenant) =>
  (await subscriptionOf(api, tenant)).usage?.storedBytes;

describe.each(damages)('an object that is %s', (_, damage) => {
  it('is taken out by a pull, told, no longer counted, and healed by a push', async () => {
    const { log, entries } = recordingLog();
    const watched = metrics();
    const { dataDir, api, place, objects, file, key } = await withObjects({ log, metrics: watched });
    await vi.waitFor(async () => expect(await storedBytes(api, place)).toBe(371_000), patience);
    expect((await storePart(api))?.state).toBe('fine');
    await damage(file);
    expect(await pull(api, place, objects[0])).toBe(404);
    expect(await pull(api, place, objects[1])).toBe(200);
    expect((await ask(api, place, 'download', objects[0])).error?.code).toBe(404);
    expect(await storePart(api)).toMatchObject({ state: 'act', says: expect.stringContaining('1 lost') });
    expect((await watched.text()).body).toContain('lfs_quota_store_files{state="lost"} 1');
    expect(entries).toContainEqual(
      expect.objectContaining({ level: 'error', fields: expect.objectContaining({ file, key }) }),
    );
    await vi.waitFor(async () => expect(await storedBytes(api, place)).toBe(301_000), patience);

    await push(api, place, [objects[0]]);
    expect(await pull(api, place, objects[0])).toBe(200);
    await vi.waitFor(async () => expect(await storedBytes(api, place)).toBe(371_000), patience);
    expect((await watched.text()).body).toContain('lfs_quota_store_files{state="lost"} 0');
    await rm(path.join(dataDir, 'store', 'set-aside'), { recursive: true, force: true });
    expect((await storePart(api))?.state).toBe('fine');
  });

  it('is deleted at once, and a push stores it again', async () => {
    const { api, place, objects, file } = await withObjects();
    const objectPath = `/v1/tenants/${place.tenant}/repos/game/objects/${objects[0].oid}`;
    const erase = async (query = '') => {
      const answer = await api.manage('DELETE', objectPath + query);
      expect(answer.status, answer.text).toBeLessThan(300);
      return jsonOf(answer) as { bytes: number; dueAt: string };
    };
    // One that is whole has its hour.
    expect(Date.parse((await erase('?dryRun=true')).dueAt)).toBeGreaterThan(Date.now() + 1_000_000);
    await damage(file);
    const erased = await erase();
    expect(erased).toMatchObject({ bytes: 70_000 });
    expect(Date.parse(erased.dueAt)).toBeLessThanOrEqual(Date.now());
    await push(api, place, [objects[0]]);
    expect(await pull(api, place, objects[0])).toBe(200);
  });

  it.each(['tar', 'zip'])('fails a %s, which names it', async (format) => {
    const { api, place, file, key } = await withObjects();
    await damage(file);
    const exportsPath = `/v1/tenants/${place.tenant}/exports`;
    const { exportId } = jsonOf(await api.manage('POST', exportsPath, { format })) as { exportId: string };
    await vi.waitFor(async () => {
      const job = jsonOf(await api.manage('GET', `${exportsPath}/${exportId}`));
      expect(job).toMatchObject({ state: 'failed', failure: { message: expect.stringContaining(key) } });
    }, patience);
  });
});

it('usage follows what is damaged while the server is stopped', async () => {
  const { dataDir, api, place, file } = await withObjects();
  await vi.waitFor(async () => expect(await storedBytes(api, place)).toBe(371_000), patience);
  await stack?.close();
  await truncate(file, 5_000);
  const again = await start(dataDir);
  expect(await storePart(again)).toMatchObject({ state: 'act', says: expect.stringContaining('1 damaged') });
  await vi.waitFor(async () => expect(await storedBytes(again, place)).toBe(301_000), patience);
});

it('foreign files in every folder of the data folder keep nothing from starting', async () => {
  const { dataDir, place, objects } = await withObjects();
  await stack?.close();
  const folders = (await readdir(dataDir, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => path.join(parentPath, name));
  expect(folders.length).toBeGreaterThan(5);
  for (const folder of [dataDir, ...folders]) {
    for (const name of ['.DS_Store', 'x.bak', '.00001.Ab12Cd', 'CURRENT~'])
      await writeFile(path.join(folder, name), 'x');
    await mkdir(path.join(folder, '@eaDir', newName()), { recursive: true });
  }
  const api = await start(dataDir);
  for (const object of objects) expect(await pull(api, place, object)).toBe(200);
  await push(api, place, [objectOf(10)]);
  expect(await storePart(api)).toMatchObject({ state: 'fine', says: expect.stringContaining('foreign') });
});
