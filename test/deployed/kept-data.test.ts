import { createHash } from 'node:crypto';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { Deployment, type Outputs } from './deployment.ts';
import { Emulator } from './emulator.ts';
import { Front } from './front.ts';
import { Operator } from './operator.ts';
import { describeWithEmulator } from './with-emulator.ts';

/** The schedule hardly runs. */
const settings: DeploymentSettingsInput = {
  keepData: true,
  refreshEveryMinutes: 600,
  reconcile: { delaySeconds: 31 },
  protocol: { reconcileRestSeconds: 0, clockSkewSeconds: 1 },
};

/** The queue's delay, another delay if requests collapsed, and a busy machine. */
const scannedWithinMs = 15 * 60_000;
const mediaType = 'application/vnd.git-lfs+json';
const oidOf = (text: string) => createHash('sha256').update(text).digest('hex');
const batchShape = z.object({
  objects: z.tuple([z.object({ actions: z.record(z.string(), z.object({ href: z.string() })).optional() })]),
});

describeWithEmulator('DEPLOYED_MINISTACK', 'data that a stack kept', (ministack) => {
  let deployment: Deployment;
  let kept: Outputs;
  let outputs: Outputs;
  let front: Front;
  let operator: Operator;
  let writeToken: string;

  beforeAll(async () => {
    deployment = new Deployment(await Emulator.start(ministack));
    await deployment.bootstrap();
  });

  afterAll(async () => {
    await front?.close();
    await deployment?.close();
  });

  it('is pushed before', async () => {
    ({ outputs } = await deployment.deploy(settings));
    kept = outputs;
    await open();
    ({ writeToken } = await operator.createTenant('acme', 1024 ** 2));
    await push('first');
  });

  it('stays when the stack is removed', async () => {
    await deployment.destroy();
    await expect(stored('first')).resolves.toBe('first');
  });

  it('is attached to a new stack, with the tokens of before, and can be pulled', async () => {
    ({ outputs } = await deployment.deploy({
      ...settings,
      restoredTableName: kept.TableName,
      objectStore: { kind: 'bucket', existingBucket: kept.BucketName },
    }));
    expect(outputs).toMatchObject({ TableName: kept.TableName, BucketName: kept.BucketName });
    await front.close();
    await open();
    expect(await operator.usage('acme')).toEqual(expect.objectContaining({ objectCount: 1 }));
    const { objects } = await batch('download', 'first');
    const { pathname, hostname } = new URL(objects[0].actions?.['download']?.href ?? '');
    expect(pathname).toBe(`/acme/game/${oidOf('first')}`);
    expect(hostname).toBe(`${kept.BucketName}.s3.us-east-1.amazonaws.com`);
  });

  it('takes another push, which is counted', async () => {
    await push('second');
    await expect(stored('second')).resolves.toBe('second');
  });

  it('is not left behind by a deployment without its settings', async () => {
    await expect(deployment.deploy(settings)).rejects.toThrow(/ObjectStoreInUse|TableInUse/);
  });

  async function open(): Promise<void> {
    front = await Front.start({ apiUrl: outputs.ApiUrl, emulator: deployment.emulator });
    operator = new Operator({ url: front.url, token: await deployment.adminToken(outputs) });
  }

  async function batch(operation: 'upload' | 'download', content: string) {
    const response = await fetch(`${front.url}/acme/game/info/lfs/objects/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${writeToken}`, 'content-type': mediaType, accept: mediaType },
      body: JSON.stringify({ operation, objects: [{ oid: oidOf(content), size: content.length }] }),
    });
    expect(response.status).toBe(200);
    return batchShape.parse(await response.json());
  }

  /** Pushes one more object. Its URL is one of AWS, so it is put into the bucket without it. */
  async function push(content: string): Promise<void> {
    const before = (await operator.usage('acme')) ?? { storedBytes: 0, objectCount: 0 };
    await batch('upload', content);
    const Key = `acme/game/${oidOf(content)}`;
    await deployment.s3.send(new PutObjectCommand({ Bucket: outputs.BucketName, Key, Body: content }));
    await operator.call('POST', '/v1/tenants/acme/reconcile');
    const expected = {
      storedBytes: before.storedBytes + content.length,
      objectCount: before.objectCount + 1,
    };
    const usage = await operator.usageWithin({ tenant: 'acme', expected, timeoutMs: scannedWithinMs });
    expect(usage).toMatchObject(expected);
  }

  async function stored(content: string): Promise<string | undefined> {
    const Key = `acme/game/${oidOf(content)}`;
    const { Body } = await deployment.s3.send(new GetObjectCommand({ Bucket: kept.BucketName, Key }));
    return Body?.transformToString();
  }
});
