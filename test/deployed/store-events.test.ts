import { createHash } from 'node:crypto';
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { Deployment, type Outputs } from './deployment.ts';
import { Emulator } from './emulator.ts';
import { Front } from './front.ts';
import { Operator } from './operator.ts';
import { describeWithEmulator } from './with-emulator.ts';

/** The delivery of an event and the reconcile's delay, on a busy machine. */
const scannedWithinMs = 180_000;

/** The schedule hardly runs, so that only events lead to reconciles. */
const settings: DeploymentSettingsInput = {
  keepData: false,
  storeEvents: true,
  refreshEveryMinutes: 600,
  reconcile: { delaySeconds: 31 },
  protocol: { reconcileRestSeconds: 0, clockSkewSeconds: 1, objectMaxMiB: 1 },
};

const oid = createHash('sha256').update('smuggled').digest('hex');

describeWithEmulator('DEPLOYED_MINISTACK', 'a stage with events of the store', (ministack) => {
  let deployment: Deployment;
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

  it('deploys', async () => {
    ({ outputs } = await deployment.deploy(settings));
    front = await Front.start({ apiUrl: outputs.ApiUrl, emulator: deployment.emulator });
    operator = new Operator({ url: front.url, token: await deployment.adminToken(outputs) });
    ({ writeToken } = await operator.createTenant('acme', 1024 ** 3));
    expect(await operator.usage('acme')).toMatchObject({ storedBytes: 0, objectCount: 0 });
  });

  it('follows the protocol settings that it was deployed with', async () => {
    const response = await fetch(`${front.url}/acme/game/info/lfs/objects/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${writeToken}`, 'content-type': 'application/vnd.git-lfs+json' },
      body: JSON.stringify({ operation: 'upload', objects: [{ oid, size: 1024 ** 2 + 1 }] }),
    });
    expect(await response.text()).toContain('Above 1 MiB you need');
  });

  describe('changed without the API', () => {
    it('counts objects that were put into the bucket, whatever their keys', async () => {
      await put(`acme/game/${oid}`, 'smuggled');
      await put('acme/game/deeper/a b+ü.bin', 'more');
      await put(`nobody/game/${oid}`, 'of no tenant');
      const expected = { storedBytes: 12, objectCount: 2 };
      const scanned = await operator.usageWithin({ tenant: 'acme', expected, timeoutMs: scannedWithinMs });
      expect(scanned).toMatchObject(expected);
    });

    it('notices that an object was deleted', async () => {
      const key = `acme/game/${oid}`;
      await deployment.s3.send(new DeleteObjectCommand({ Bucket: outputs.BucketName, Key: key }));
      const expected = { storedBytes: 4, objectCount: 1 };
      const scanned = await operator.usageWithin({ tenant: 'acme', expected, timeoutMs: scannedWithinMs });
      expect(scanned).toMatchObject(expected);
    });

    it('needs no full listing, and no event fails', async () => {
      const logged = async (text: string): Promise<readonly string[]> =>
        (await deployment.emulator.log()).split('\n').filter((line) => line.includes(text));
      const reconciles = () => logged('"message":"reconciled"');
      // The emulator may take the line of a reconcile only at the next one, which another change brings about.
      const changeAndCount = async () => {
        const { length } = await reconciles();
        if (length < 2) await put(`acme/game/again-${Date.now()}`, 'more');
        return length;
      };
      await expect
        .poll(changeAndCount, { timeout: scannedWithinMs, interval: 5_000 })
        .toBeGreaterThanOrEqual(2);
      expect((await reconciles()).filter((line) => line.includes('"full":true'))).toEqual([]);
      expect(await logged('"message":"store events failed"')).toEqual([]);
      const notes = await logged('"message":"store changed"');
      expect(notes.some((line) => line.includes('"noted":["game"]'))).toBe(true);
    });
  });

  async function put(key: string, body: string): Promise<void> {
    await deployment.s3.send(new PutObjectCommand({ Bucket: outputs.BucketName, Key: key, Body: body }));
  }
});
