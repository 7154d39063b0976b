import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { Deployment, type Outputs } from './deployment.ts';
import { Emulator } from './emulator.ts';
import { Front } from './front.ts';
import { Operator } from './operator.ts';
import { describeWithEmulator } from './with-emulator.ts';

const projectRoot = join(import.meta.dirname, '..', '..');
const settings: DeploymentSettingsInput = { keepData: false, refreshEveryMinutes: 600 };
const limitBytes = 1024 ** 2;
const objectBytes = 6;

describeWithEmulator('DEPLOYED_MINISTACK', 'a stage that is upgraded and goes back', (ministack) => {
  let deployment: Deployment;
  let outputs: Outputs;
  let front: Front;
  let operator: Operator;
  let newer: string;
  const tokens = new Map<string, string>();

  beforeAll(async () => {
    deployment = new Deployment(await Emulator.start(ministack));
    await deployment.bootstrap();
    newer = await newerVersion(join(deployment.emulator.folder, 'newer'));
  });

  afterAll(async () => {
    await front?.close();
    await deployment?.close();
  });

  it('takes uploads in this version', async () => {
    ({ outputs } = await deployment.deploy(settings));
    front = await Front.start({ apiUrl: outputs.ApiUrl, emulator: deployment.emulator });
    operator = new Operator({ url: front.url, token: await deployment.adminToken(outputs) });
    await create('before');
    expect((await upload('before', 'first')).status).toBe(200);
  });

  it('is upgraded to a version with a newer format, which goes on with what it finds', async () => {
    const changed = await deployment.deploy(settings, { checkout: newer });
    expect(changed.outputs).toEqual(outputs);
    await create('after');
    for (const tenant of ['before', 'after']) expect((await upload(tenant, 'second')).status).toBe(200);
    expect(await deployment.tenantItem(outputs, 'before')).toMatchObject({ format: { N: '1' } });
    expect(await deployment.tenantItem(outputs, 'after')).toMatchObject({ format: { N: '2' } });
  });

  it('goes back: what has the newer format is refused and kept as it is, and all else goes on', async () => {
    await deployment.deploy(settings);
    expect((await upload('before', 'third')).status).toBe(200);
    const kept = await deployment.tenantItem(outputs, 'after');
    const expectRefusals = async () => {
      const refused = await upload('after', 'third');
      expect(refused.status).toBe(503);
      expect(await refused.text()).toContain('The operator must deploy that version again.');
      for (const [method, path, body] of [
        ['GET', '/v1/tenants/after'],
        ['PATCH', '/v1/tenants/after', { limitBytes: 1 }],
        ['GET', '/v1/tenants/after/subscription'],
      ] as const) {
        expect(await operator.tryCall(method, path, body)).toMatchObject({
          status: 503,
          json: { code: 'storage-unavailable' },
        });
      }
    };
    await expectRefusals();
    expect(await deployment.tenantItem(outputs, 'after')).toEqual(kept);
    // The emulator may take a line of a function that comes after its answer only when the function is called again.
    const failed = await vi.waitFor(
      async () => {
        const entries = await deployment.logs.entries();
        const found = entries.filter(({ message }) => message === 'request failed');
        if (found.length < 4) await expectRefusals();
        expect(found.length).toBeGreaterThanOrEqual(4);
        return found;
      },
      { timeout: 60_000, interval: 500 },
    );
    const why = /^NewerFormatError: Tenant after was written by a newer version: its items have format 2/;
    const error = expect.objectContaining({ message: expect.stringMatching(why) });
    for (const entry of failed) expect(entry).toMatchObject({ level: 'ERROR', error });
  });

  it('is upgraded again, and no promise was lost', async () => {
    await deployment.deploy(settings, { checkout: newer });
    expect((await upload('after', 'fourth')).status).toBe(200);
    const promised = async (tenant: string) =>
      Number((await deployment.tenantItem(outputs, tenant))['committedBytes']?.N);
    expect(await promised('before')).toBe(3 * objectBytes);
    expect(await promised('after')).toBe(2 * objectBytes);
  });

  async function create(tenant: string): Promise<void> {
    tokens.set(tenant, (await operator.createTenant(tenant, limitBytes)).writeToken);
  }

  /** Asks for the URL of an upload, which is counted from then on. */
  function upload(tenant: string, content: string): Promise<Response> {
    const oid = createHash('sha256').update(content).digest('hex');
    return fetch(`${front.url}/${tenant}/game/info/lfs/objects/batch`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tokens.get(tenant)}`,
        'content-type': 'application/vnd.git-lfs+json',
      },
      body: JSON.stringify({ operation: 'upload', objects: [{ oid, size: objectBytes }] }),
    });
  }
});

/** This version with the next format: what it writes, it writes with that. @returns its folder. */
async function newerVersion(folder: string): Promise<string> {
  await mkdir(folder);
  for (const name of [
    'bin',
    'cli',
    'console',
    'lib',
    'lambda',
    'cdk.json',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
  ])
    await cp(join(projectRoot, name), join(folder, name), { recursive: true });
  await symlink(join(projectRoot, 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, 'lambda', 'table', 'table.ts');
  const [now, next] = ['knownFormat = 1;', 'knownFormat = 2;'];
  const text = await readFile(file, 'utf8');
  expect(text).toContain(now);
  await writeFile(file, text.replace(now, next));
  return folder;
}
