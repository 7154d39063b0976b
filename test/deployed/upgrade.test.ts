import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { checkOutLastRelease, lastRelease } from '../support/last-release.ts';
import { Deployment, type Outputs } from './deployment.ts';
import { Emulator } from './emulator.ts';
import { Front } from './front.ts';
import { Operator } from './operator.ts';
import { describeWithEmulator } from './with-emulator.ts';

const projectRoot = join(import.meta.dirname, '..', '..');
const limitBytes = 1024 ** 2;

/** All that the release accepts as well. The schedule hardly runs. */
const settings: DeploymentSettingsInput = {
  keepData: false,
  refreshEveryMinutes: 600,
  reconcile: { delaySeconds: 31 },
  protocol: { reconcileRestSeconds: 0, clockSkewSeconds: 1 },
};
/** Longer than a deployment mostly takes: the next version gets what this one queues. */
const queuesLong: DeploymentSettingsInput = { ...settings, reconcile: { delaySeconds: 150 } };

/** The queue's delay, another delay if requests collapsed, and a busy machine. */
const doneWithinMs = 15 * 60_000;
const polled = { timeout: doneWithinMs, interval: 500 };
const uploadShape = z.object({
  objects: z.tuple([
    z.object({
      actions: z.object({ verify: z.object({ href: z.string(), header: z.record(z.string(), z.string()) }) }),
    }),
  ]),
});
const lockShape = z.object({ lock: z.object({ id: z.string() }) });
const mediaType = 'application/vnd.git-lfs+json';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

interface Upload {
  readonly tenant: string;
  readonly content: string;
  /** As the batch that signed the upload answered. */
  readonly verify: { readonly href: string; readonly header: Record<string, string> };
}

describeWithEmulator('DEPLOYED_MINISTACK', `a stage of ${lastRelease().version}`, (ministack) => {
  let deployment: Deployment;
  let outputs: Outputs;
  let front: Front;
  let operator: Operator;
  let release: string;
  let newer: string;
  let lockId: string;
  let exportId: unknown;
  let open: Upload;
  /** Function → its version. */
  let ofHead: ReadonlyMap<string, string>;
  const tokens = new Map<string, string>();
  /** What the bucket has to hold in the end, of the tenant that is there from the start. */
  const kept = new Set<string>();

  beforeAll(async () => {
    deployment = new Deployment(await Emulator.start(ministack));
    await deployment.bootstrap();
    release = join(deployment.emulator.folder, 'release');
    await checkOutLastRelease(release);
    newer = await newerVersion(join(deployment.emulator.folder, 'newer'));
  });

  afterAll(async () => {
    await front?.close();
    await deployment?.close();
  });

  it('is in use: a push, a lock, and an upload, a delete and an export that are not finished', async () => {
    ({ outputs } = await deployment.deploy(queuesLong, { checkout: release }));
    front = await Front.start({ apiUrl: outputs.ApiUrl, emulator: deployment.emulator });
    operator = new Operator({ url: front.url, token: await deployment.adminToken(outputs) });
    for (const content of ['gone', 'too']) await put(`before/old/${sha256(content)}`, content);
    await create('before');
    await operator.usageWithin({
      tenant: 'before',
      expected: sumOf(['gone', 'too']),
      timeoutMs: doneWithinMs,
    });
    await push('before', 'first');
    const locked = await lfs('before', 'locks', { path: 'art/hero.psd' });
    lockId = lockShape.parse(await locked.json()).lock.id;
    open = await begin('before', 'open');
    ({ exportId } = await operator.call('POST', '/v1/tenants/before/exports', {
      format: 'tar',
      repo: 'game',
    }));
    expect(await operator.call('DELETE', '/v1/tenants/before/repos/old')).toMatchObject({ objectCount: 2 });
  });

  it('is upgraded to this version, and keeps its URL and data', async () => {
    const upgraded = await deployment.deploy(settings);
    expect(upgraded.outputs).toEqual(outputs);
    ofHead = await deployment.liveVersions();
  });

  it('finishes what was left, and is exact', async () => {
    await land(open);
    await push('before', 'second');
    expect((await lfs('before', `locks/${lockId}/unlock`, {})).status).toBe(200);
    const job = () => operator.call('GET', `/v1/tenants/before/exports/${exportId}`);
    await expect.poll(job, polled).toMatchObject({ state: 'done' });
    await expectExact();
  });

  it('goes back to the release, which takes a push and is exact', async () => {
    await deployment.deploy(settings, { checkout: release });
    await push('before', 'third');
  });

  it('is upgraded to a version with a newer format, which continues with what it finds', async () => {
    await deployment.deploy(settings, { checkout: newer });
    await create('after');
    await push('before', 'fourth');
    await push('after', 'first');
    expect(await deployment.tenantItem(outputs, 'before')).toMatchObject({ format: { N: '1' } });
    expect(await deployment.tenantItem(outputs, 'after')).toMatchObject({ format: { N: '2' } });
  });

  it('goes back to this version by its aliases alone: what has the newer format is refused and kept as it is, and all else continues', async () => {
    expect(await deployment.liveVersions()).not.toEqual(ofHead);
    await deployment.goBackTo(ofHead);
    expect(await deployment.liveVersions()).toEqual(ofHead);
    await push('before', 'fifth');
    const item = await deployment.tenantItem(outputs, 'after');
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
    expect(await deployment.tenantItem(outputs, 'after')).toEqual(item);
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

  it('lost nothing that was promised, and is exact', async () => {
    await expectExact();
  });

  async function create(tenant: string): Promise<void> {
    tokens.set(tenant, (await operator.createTenant(tenant, limitBytes)).writeToken);
  }

  const sumOf = (contents: readonly string[]) => ({
    storedBytes: contents.reduce((sum, { length }) => sum + length, 0),
    objectCount: contents.length,
  });

  /** A push of one object, as git-lfs makes it. */
  async function push(tenant: string, content: string): Promise<void> {
    await land(await begin(tenant, content));
  }

  async function begin(tenant: string, content: string): Promise<Upload> {
    const answer = await upload(tenant, content);
    expect(answer.status).toBe(200);
    const [{ actions }] = uploadShape.parse(await answer.json()).objects;
    return { tenant, content, verify: actions.verify };
  }

  /** Asks for the URL of an upload, which is counted from then on. */
  function upload(tenant: string, content: string): Promise<Response> {
    const objects = [{ oid: sha256(content), size: content.length }];
    return lfs(tenant, 'objects/batch', { operation: 'upload', objects });
  }

  /** Ends an upload. Its URL is one of AWS, so it is put into the bucket without it. */
  async function land({ tenant, content, verify }: Upload): Promise<void> {
    const oid = sha256(content);
    await put(`${tenant}/game/${oid}`, content);
    const headers = { ...verify.header, 'content-type': mediaType };
    const body = JSON.stringify({ oid, size: content.length });
    expect((await fetch(verify.href, { method: 'POST', headers, body })).status).toBe(200);
    if (tenant === 'before') kept.add(content);
  }

  /** At rest: the bucket has what was pushed and not deleted, and usage, counter and reservations say the same. */
  async function expectExact(): Promise<void> {
    const expected = sumOf([...kept]);
    const keys = [...kept].map((content) => `before/game/${sha256(content)}`).sort();
    await expect.poll(() => keysBelow('before/'), polled).toEqual(keys);
    const usage = await operator.usageWithin({ tenant: 'before', expected, timeoutMs: doneWithinMs });
    expect(usage).toMatchObject(expected);
    const committed = async () =>
      Number((await deployment.tenantItem(outputs, 'before'))['committedBytes']?.N);
    await expect.poll(committed, polled).toBe(expected.storedBytes);
  }

  function lfs(tenant: string, path: string, body: object): Promise<Response> {
    return fetch(`${front.url}/${tenant}/game/info/lfs/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tokens.get(tenant)}`,
        'content-type': mediaType,
        accept: mediaType,
      },
      body: JSON.stringify(body),
    });
  }

  async function put(Key: string, Body: string): Promise<void> {
    await deployment.s3.send(new PutObjectCommand({ Bucket: outputs.BucketName, Key, Body }));
  }

  async function keysBelow(Prefix: string): Promise<string[]> {
    const page = await deployment.s3.send(new ListObjectsV2Command({ Bucket: outputs.BucketName, Prefix }));
    return (page.Contents ?? []).map(({ Key = '' }) => Key).sort();
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
  const file = join(folder, 'lambda', 'core', 'table', 'table.ts');
  const [now, next] = ['knownFormat = 1;', 'knownFormat = 2;'];
  const text = await readFile(file, 'utf8');
  expect(text).toContain(now);
  await writeFile(file, text.replace(now, next));
  return folder;
}
