import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { parseDeploymentSettings } from '../../lib/settings/stages.ts';
import { adoptedReposOf } from '../blackbox/adopted-repos.ts';
import { newName } from '../blackbox/api.ts';
import { blackboxSuite } from '../blackbox/suite.ts';
import { startStandInHost } from '../support/git-host.ts';
import { GitUser } from '../support/git-user.ts';
import { startTestIssuer } from '../support/identity-issuer.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles } from '../support/payload.ts';
import { isInTurn } from '../support/turn.ts';
import { Deployment, type Outputs } from './deployment.ts';
import { Emulator } from './emulator.ts';
import { Front } from './front.ts';
import { Operator } from './operator.ts';
import { ReconcileQueue } from './reconcile-queue.ts';
import { describeWithEmulator } from './with-emulator.ts';

const kib = 1024;
const minuteMs = 60_000;
/** Lies in the stack's own bucket, less deep than a tenant's objects: functions need a grant of its path. */
const shallow = { tenant: 'moved-in', repo: 'game', path: 'Games/', names: 'oid' } as const;
const externalBucket = 'objects-elsewhere';
const total = (objects: ReadonlyMap<string, number>) => ({
  storedBytes: [...objects.values()].reduce((sum, sizeBytes) => sum + sizeBytes, 0),
  objectCount: objects.size,
});

const batchAnswerShape = z.object({ objects: z.array(z.unknown()) });
const link = z.object({ href: z.string() });
const uploadAnswerShape = z.tuple([z.object({ actions: z.object({ upload: link }) })]);
const downloadAnswerShape = z.array(z.object({ actions: z.object({ download: link }) }));

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Tests of the suite that the emulator's API Gateway cannot pass: title → reason. */
const notOfTheEmulator: ReadonlyMap<string, string> = new Map([
  ['without the name of a repo is not found', 'a path with an empty segment matches no route there'],
  ['without the name of a tenant is not found', 'a path with an empty segment matches no route there'],
  ['that climbs, has a part too many, or one too few, is no route', 'it decodes %2f before it routes'],
  ['to the health of the API is open to all, and shows the release', 'it answers /health itself'],
  ['that is none is a 404 with a problem in words', 'a closing slash makes no difference there'],
]);

/** The queue's delay, another delay if requests collapsed, and a busy machine. */
const scannedWithinMs = 120_000;

describeWithEmulator('DEPLOYED_MINISTACK', 'the deployed stack', (ministack) => {
  // A new tenant is counted when it is created. It has rested by the time its first reconcile is delivered.
  const largeRepoObjects = 1000;
  const protocol = { reconcileRestSeconds: 20, largeRepoObjects };
  const adoptedRepos = adoptedReposOf(newName());
  const base: DeploymentSettingsInput = {
    keepData: false,
    refreshEveryMinutes: 1,
    protocol,
    adoptedRepos: [shallow, ...adoptedRepos],
  };
  let external: DeploymentSettingsInput;
  let deployment: Deployment;
  let outputs: Outputs;
  let front: Front;
  let operator: Operator;
  let queue: ReconcileQueue;
  let adminToken: string;
  let forge: Awaited<ReturnType<typeof startStandInHost>>;
  let issuer: Awaited<ReturnType<typeof startTestIssuer>>;

  beforeAll(async () => {
    deployment = new Deployment(await Emulator.start(ministack));
    await deployment.bootstrap();
    // By https, as a stage has to have them. Functions trust the emulator's certificate, and so these.
    const tls = await deployment.emulator.tls();
    forge = await startStandInHost('gitea', 'forge', tls);
    issuer = await startTestIssuer(tls);
    const trusted = { gitHosts: [forge.setting], identityIssuers: [issuer.setting] };
    external = {
      ...base,
      protocol: { ...protocol, hostUserKeptMinutes: 1 },
      objectStore: await deployment.externalStore(externalBucket),
      ...trusted,
    };
  });

  afterAll(async () => {
    queue?.close();
    await front?.close();
    await deployment?.close();
    await forge?.close();
    await issuer?.close();
  });

  describe('with a bucket of its own', () => {
    it('deploys', async () => {
      ({ outputs } = await deployment.deploy(base));
      front = await Front.start({ apiUrl: outputs.ApiUrl, emulator: deployment.emulator });
      adminToken = await deployment.adminToken(outputs);
      // AWS leaves the excluded characters out, the emulator does not. test/stack checks the template.
      expect(adminToken).toHaveLength(43);
      operator = new Operator({ url: front.url, token: adminToken });
      queue = new ReconcileQueue(deployment.emulator, outputs);
    });

    it('rejects a missing or wrong token, and answers 404 to what matches no route', async () => {
      const statusOf = async (path: string, authorization?: string) => {
        const headers = authorization === undefined ? {} : { authorization };
        return (await fetch(`${front.url}${path}`, { headers })).status;
      };
      expect(await statusOf('/v1/tenants')).toBe(401);
      expect(await statusOf('/v1/tenants', 'Bearer wrong')).toBe(401);
      expect(await statusOf('/v1/tenants', `Bearer ${adminToken}`)).toBe(200);
      expect(await statusOf('/nowhere', `Bearer ${adminToken}`)).toBe(404);
      expect(await statusOf('/acme/game.git/info/lfs/locks')).toBe(401);
      expect(await statusOf('/acme/game.git/info/lfs/nothing')).toBe(404);
    });

    it('signs upload URLs of its bucket on AWS', async () => {
      const { writeToken } = await operator.createTenant('signed', 1024 * kib);
      const oid = sha256('signed');
      const asked = { token: writeToken, operation: 'upload', objects: [{ oid, size: 6 }] };
      const [answer] = uploadAnswerShape.parse(await batch('/signed/game', asked));
      const href = new URL(answer.actions.upload.href);
      expect(href.host).toBe(`${outputs.BucketName}.s3.us-east-1.amazonaws.com`);
      expect(href.pathname).toBe(`/signed/game/${oid}`);
      expect(href.searchParams.get('X-Amz-SignedHeaders')).toContain('content-length');
    });

    describe('in which another server has laid out a repo', () => {
      const objects = ['one', 'two'].map((text) => ({ oid: sha256(text), size: text.length, text }));
      const keys = objects.map(({ oid }) => `${shallow.path}${oid}`).sort();
      const { tenant } = shallow;
      let token: string;

      it('counts it', async () => {
        for (const { oid, text } of objects) await put(`${shallow.path}${oid}`, text);
        await put(`${shallow.path}README`, 'of the other server');
        ({ writeToken: token } = await operator.createTenant(tenant, 1024 * kib));
        const expected = { storedBytes: 6, objectCount: 2 };
        expect(await operator.usageWithin({ tenant, expected, timeoutMs: scannedWithinMs })).toMatchObject(
          expected,
        );
      });

      it('knows what is stored, and signs URLs of where it lies', async () => {
        const asked = (operation: string) => batch(`/${tenant}/game`, { token, operation, objects });
        expect(await asked('upload')).toEqual(objects.map(({ oid, size }) => ({ oid, size })));
        const offered = downloadAnswerShape.parse(await asked('download'));
        const paths = offered.map(({ actions }) => new URL(actions.download.href).pathname);
        expect(paths.sort()).toEqual(keys.map((key) => `/${key}`));
      });

      it('exports it', async () => {
        const exports = `/v1/tenants/${tenant}/exports`;
        const { exportId } = await operator.call('POST', exports, { format: 'tar' });
        const job = () => operator.call('GET', `${exports}/${exportId}`);
        await expect.poll(job, { timeout: scannedWithinMs, interval: 500 }).toMatchObject({ state: 'done' });
        const [archive = ''] = (await keysBelow('_exports/')).filter((key) => key.endsWith('.tar'));
        const bytes = await get(archive);
        for (const { text } of objects) expect(bytes.includes(text)).toBe(true);
        await operator.call('DELETE', `${exports}/${exportId}`);
      });

      it('deletes it, and nothing else', async () => {
        const planned = await operator.call('DELETE', `/v1/tenants/${tenant}/repos/game`);
        expect(planned).toMatchObject({ objectCount: 2, bytes: 6 });
        const left = () => keysBelow(shallow.path);
        await expect
          .poll(left, { timeout: scannedWithinMs, interval: 500 })
          .toEqual([`${shallow.path}README`]);
      });

      async function put(Key: string, Body: string): Promise<void> {
        await deployment.s3.send(new PutObjectCommand({ Bucket: outputs.BucketName, Key, Body }));
      }

      async function get(Key: string): Promise<Buffer> {
        const { Body } = await deployment.s3.send(new GetObjectCommand({ Bucket: outputs.BucketName, Key }));
        return Buffer.from((await Body?.transformToByteArray()) ?? []);
      }

      async function keysBelow(Prefix: string): Promise<string[]> {
        const page = await deployment.s3.send(
          new ListObjectsV2Command({ Bucket: outputs.BucketName, Prefix }),
        );
        return (page.Contents ?? []).map(({ Key = '' }) => Key);
      }
    });

    /** The objects of a batch's answer. */
    async function batch(
      repo: string,
      asked: { token: string; operation: string; objects: readonly { oid: string; size: number }[] },
    ): Promise<unknown> {
      const { token, operation, objects } = asked;
      const mediaType = 'application/vnd.git-lfs+json';
      const response = await fetch(`${front.url}${repo}/info/lfs/objects/batch`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': mediaType, accept: mediaType },
        body: JSON.stringify({
          operation,
          ref: { name: 'refs/heads/main' },
          objects: objects.map(({ oid, size }) => ({ oid, size })),
        }),
      });
      return batchAnswerShape.parse(await response.json()).objects;
    }
  });

  describe('with an external store, as a changed setting', () => {
    const files: Files = new Map(
      Array.from({ length: 30 }, (_, index) => [
        `${index}.bin`,
        bytesOf(`deployed${index}`, 1 + index * 7 * kib),
      ]),
    );
    const objects = objectsOf(files);
    const big: Files = new Map([['big.bin', bytesOf('big', 4096 * kib)]]);
    const poison = 'no request for a reconcile';
    let poisonId: string;
    let user: GitUser;
    let remote: string;
    let workTree: string;

    afterAll(() => user?.close());

    it('is refused, because what is stored stays behind', async () => {
      await expect(deployment.deploy(external)).rejects.toThrow('-c settings=FILE.json');
    });

    it('deploys if the operator asks for it, and keeps its tenants', async () => {
      const parameter = `ObjectStoreInUse=${deployment.emulator.endpoint}/${externalBucket}`;
      const changed = await deployment.deploy(external, { parameter });
      expect(changed.outputs).toMatchObject({ ApiUrl: outputs.ApiUrl, TableName: outputs.TableName });
      outputs = changed.outputs;
      expect(outputs.BucketName).toBe(externalBucket);
      expect(await operator.call('GET', '/v1/tenants/signed')).toMatchObject({ tenant: 'signed' });
    });

    it('accepts a push of the real client', async () => {
      const { writeToken } = await operator.createTenant('acme', 4096 * kib);
      user = await GitUser.create({ url: front.url, token: writeToken });
      await user.git(user.home, 'config', '--global', 'http.sslCAInfo', deployment.emulator.certificateFile);
      remote = await user.createRemote('game');
      workTree = await user.createWorkTree('work', { remote, lfsUrl: `${front.url}/acme/game.git/info/lfs` });
      await user.commitFiles(workTree, files, 'Mixed files');
      await user.git(workTree, 'push', '--quiet', 'origin', 'main');
      expect(await stored('acme/game/')).toEqual(objects);
    });

    it('counts the push through the queue, exact to the byte and object', async () => {
      const expected = total(objects);
      const scanned = await operator.usageWithin({ tenant: 'acme', expected, timeoutMs: scannedWithinMs });
      expect(scanned).toMatchObject(expected);
    });

    it('returns the same bytes in a clone', async () => {
      await user.git(user.home, 'clone', '--quiet', remote, 'clone');
      expect(digests(await readFiles(join(user.home, 'clone')))).toEqual(digests(files));
    });

    it('refuses a push over the limit, and accepts it after the limit is raised', async () => {
      await user.commitFiles(workTree, big, 'Too big');
      const refused = await user.tryGit(workTree, ['push', 'origin', 'main']);
      expect(refused.code).not.toBe(0);
      expect(refused.err).toContain('Storage limit reached: acme');
      expect(await stored('acme/game/')).toEqual(objects);
      await operator.call('PATCH', '/v1/tenants/acme', { limitBytes: 16_384 * kib });
      await user.git(workTree, 'push', '--quiet', 'origin', 'main');
      expect(await stored('acme/game/')).toEqual(new Map([...objects, ...objectsOf(big)]));
    });

    // These take long. They begin here, and are checked after the clients' suite.
    it('gets an object without the API, an unreadable message, and a request behind that message', async () => {
      for (const tenant of ['behind-its-back', 'poisoned']) {
        await operator.createTenant(tenant, 1024 * kib);
        await putObject(`${tenant}/game/${sha256(tenant)}`, tenant);
      }
      await deployment.makeScanDue(outputs, 'behind-its-back');
      poisonId = await queue.send({ group: 'poisoned', body: poison });
      await operator.call('POST', '/v1/tenants/poisoned/reconcile');
    });

    describe('as its clients see it', () => {
      beforeEach(({ task, skip }) => {
        const reason = notOfTheEmulator.get(task.name);
        if (reason !== undefined) skip(reason);
      });
      const stack = () => ({
        url: front.url,
        adminToken,
        scannedWithinMs,
        largeRepoObjects,
        putObject,
        storedKeys: keysBelow,
        adoptedRepos,
        gitHost: forge.host,
        hostUserKeptMs: minuteMs,
        issuer: issuer.issuer,
        ownUrl: `https://${new URL(outputs.ApiUrl).hostname}`,
        ca: readFileSync(deployment.emulator.certificateFile),
      });
      // Half of it: each request takes a process. All of it runs against the embedded stack for each change.
      blackboxSuite(stack, isInTurn);
    });

    it('counted the push that was over the limit at first', async () => {
      await scanned('acme', total(new Map([...objects, ...objectsOf(big)])));
    });

    it('found by its schedule the object that came without the API', async () => {
      const tenant = 'behind-its-back';
      await scanned(tenant, { storedBytes: tenant.length, objectCount: 1 });
      const entries = await deployment.logs.entries();
      const runs = entries.filter(({ message }) => message === 'refresh').map(({ requestId }) => requestId);
      const reconciles = entries.filter(
        (entry) => entry['message'] === 'reconciled' && entry['tenant'] === tenant,
      );
      expect(reconciles).toMatchObject([{ full: true, driftBytes: tenant.length }]);
      expect(runs).toContain(reconciles[0]?.['correlationId']);
    });

    it('moved the unreadable message to the dead-letter queue, and handled the request behind it', async () => {
      const [letter, ...others] = await queue.deadLetters({ atLeast: 1, timeoutMs: scannedWithinMs });
      expect(others).toEqual([]);
      expect(letter).toMatchObject({
        MessageId: poisonId,
        Body: poison,
        Attributes: { MessageGroupId: 'poisoned' },
      });
      await scanned('poisoned', { storedBytes: 'poisoned'.length, objectCount: 1 });
      const entries = await deployment.logs.entries();
      const tries = entries.filter(({ message }) => message === 'unreadable message');
      const { attemptsMax } = parseDeploymentSettings('lane', base).reconcile;
      expect(tries.map(({ messageId }) => messageId)).toEqual(Array(attemptsMax).fill(poisonId));
      expect(tries.map(({ receiveCount }) => receiveCount).sort((a, b) => Number(a) - Number(b))).toEqual(
        Array.from({ length: attemptsMax }, (_, index) => index + 1),
      );
    });

    it('logs ids that lead from a push to its reconcile', async () => {
      const ofAcme = (await deployment.logs.entries()).filter(({ tenant }) => tenant === 'acme');
      const pushes = ofAcme.filter(({ message }) => message === 'uploads');
      expect(pushes.length).toBeGreaterThanOrEqual(3);
      // A reconcile that decides about a push runs within the push's request, and has no message.
      const reconciles = ofAcme.filter(
        ({ message, messageId }) => message === 'reconciled' && messageId !== undefined,
      );
      expect(reconciles.length).toBeGreaterThanOrEqual(2);
      for (const { requestId, functionRequestId } of pushes)
        expect([typeof requestId, typeof functionRequestId]).toEqual(['string', 'string']);
      for (const { correlationId } of reconciles) expect(correlationId).toEqual(expect.any(String));
      const asked = new Set(pushes.map(({ requestId }) => requestId));
      expect(reconciles.filter(({ correlationId }) => asked.has(correlationId))).not.toEqual([]);
    });

    it('deploys again without changes', async () => {
      const { printed } = await deployment.deploy(external);
      expect(printed).toContain('(no changes)');
    });

    it('wrote no tokens and no signatures to its logs', async () => {
      const log = [...(await deployment.logs.lines()), await deployment.emulator.log()].join('\n');
      for (const message of ['reconciled', 'uploads', 'subscription', 'refresh'])
        expect(log).toContain(`"message":"${message}"`);
      expect(log).not.toMatch(/lfs[qsv]_[A-Za-z0-9]|forge-token-|X-Amz-Signature/);
      expect(log).not.toContain(adminToken);
    });

    /** Waits until the tenant's usage is this. */
    async function scanned(tenant: string, expected: { storedBytes: number; objectCount: number }) {
      // One interval of the schedule longer than through the queue.
      const timeoutMs = scannedWithinMs + 60_000;
      expect(await operator.usageWithin({ tenant, expected, timeoutMs })).toMatchObject(expected);
    }

    async function putObject(key: string, content: string | Uint8Array): Promise<void> {
      await deployment.s3.send(new PutObjectCommand({ Bucket: externalBucket, Key: key, Body: content }));
    }

    async function keysBelow(prefix: string): Promise<string[]> {
      return [...(await stored(prefix)).keys()].map((name) => prefix + name);
    }

    async function stored(prefix: string): Promise<Map<string, number>> {
      const page = await deployment.s3.send(
        new ListObjectsV2Command({ Bucket: externalBucket, Prefix: prefix }),
      );
      return new Map((page.Contents ?? []).map(({ Key = '', Size = 0 }) => [Key.slice(prefix.length), Size]));
    }
  });
});
