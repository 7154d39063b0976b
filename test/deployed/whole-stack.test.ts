import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { tenantKey } from '../../lambda/adapters/aws/dynamodb-items.ts';
import { byDueIndex } from '../../lambda/adapters/aws/dynamodb-table.ts';
import type { StageSettingsInput } from '../../lib/stage-settings.ts';
import { blackboxSuite } from '../blackbox/suite.ts';
import { GitUser } from '../e2e/git-user.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles, writeFiles } from '../e2e/payload.ts';
import { Deployment, type Outputs } from './deployment.ts';
import { Emulator } from './emulator.ts';
import { Front } from './front.ts';
import { Operator } from './operator.ts';
import { describeWithEmulator } from './with-emulator.ts';

const kib = 1024;
const externalBucket = 'objects-elsewhere';
const total = (objects: ReadonlyMap<string, number>) => ({
  storedBytes: [...objects.values()].reduce((sum, sizeBytes) => sum + sizeBytes, 0),
  objectCount: objects.size,
});

const uploadAnswerShape = z.object({
  objects: z.tuple([z.object({ actions: z.object({ upload: z.object({ href: z.string() }) }) })]),
});

/** What the suite asks of an API Gateway that the emulator's does not do. */
const notOfTheEmulator: ReadonlyMap<string, string> = new Map([
  ['without the name of a repo is not found', 'a path with an empty segment matches no route there'],
  ['without the name of a tenant is not found', 'a path with an empty segment matches no route there'],
  ['that climbs, has a part too many, or one too few, is no route', 'it decodes %2f before it routes'],
  ['to the health of the API is open to all', 'it answers /health itself'],
  ['that is none is a 404 with a problem in words', 'a closing slash makes no difference there'],
]);

/** The queue's delay, a collapsed trigger behind it, and a busy machine. */
const countedWithinMs = 120_000;

describeWithEmulator('DEPLOYED_MINISTACK', 'the deployed stack', (ministack) => {
  const base: StageSettingsInput = { keepData: false, refreshEveryMinutes: 1 };
  let external: StageSettingsInput;
  let deployment: Deployment;
  let outputs: Outputs;
  let front: Front;
  let operator: Operator;
  let adminToken: string;

  beforeAll(async () => {
    deployment = new Deployment(await Emulator.start(ministack));
    await deployment.bootstrap();
    external = { ...base, objectStore: await deployment.externalStore(externalBucket) };
  });

  afterAll(async () => {
    await front?.close();
    await deployment?.close();
  });

  describe('with a bucket of its own', () => {
    it('deploys', async () => {
      ({ outputs } = await deployment.deploy(base));
      front = await Front.start({ apiUrl: outputs.ApiUrl, emulator: deployment.emulator });
      adminToken = await deployment.adminToken(outputs);
      // The emulator leaves no characters out, as AWS does; the stack's template is asserted elsewhere.
      expect(adminToken).toHaveLength(43);
      operator = new Operator({ url: front.url, token: adminToken });
    });

    it('refuses who has no token or a wrong one, and answers what matches no route', async () => {
      const statusOf = async (path: string, authorization?: string) => {
        const headers = authorization === undefined ? {} : { authorization };
        return (await fetch(`${front.url}${path}`, { headers })).status;
      };
      expect(await statusOf('/v1/tenants')).toBe(401);
      expect(await statusOf('/v1/tenants', 'Bearer wrong')).toBe(401);
      expect(await statusOf('/v1/tenants', `Bearer ${adminToken}`)).toBe(200);
      expect(await statusOf('/nowhere', `Bearer ${adminToken}`)).toBe(404);
      expect(await statusOf('/acme/game.git/info/lfs/locks')).toBe(404);
    });

    it('signs uploads to its bucket on AWS', async () => {
      const { writeToken } = await operator.createTenant('signed', 1024 * kib);
      const oid = createHash('sha256').update('signed').digest('hex');
      const mediaType = 'application/vnd.git-lfs+json';
      const response = await fetch(`${front.url}/signed/game/info/lfs/objects/batch`, {
        method: 'POST',
        headers: { authorization: `Bearer ${writeToken}`, 'content-type': mediaType, accept: mediaType },
        body: JSON.stringify({
          operation: 'upload',
          ref: { name: 'refs/heads/main' },
          objects: [{ oid, size: 6 }],
        }),
      });
      const answer = uploadAnswerShape.parse(await response.json());
      const href = new URL(answer.objects[0].actions.upload.href);
      expect(href.host).toBe(`${outputs.BucketName}.s3.us-east-1.amazonaws.com`);
      expect(href.pathname).toBe(`/signed/game/${oid}`);
      expect(href.searchParams.get('X-Amz-SignedHeaders')).toContain('content-length');
    });
  });

  describe('with an external store, as a changed setting', () => {
    const files: Files = new Map(
      Array.from({ length: 30 }, (_, index) => [
        `${index}.bin`,
        bytesOf(`deployed${index}`, 1 + index * 7 * kib),
      ]),
    );
    const objects = objectsOf(files);
    let user: GitUser;
    let remote: string;
    let workTree: string;

    afterAll(() => user?.close());

    it('deploys, and keeps its tenants', async () => {
      const changed = await deployment.deploy(external);
      expect(changed.outputs).toMatchObject({ ApiUrl: outputs.ApiUrl, TableName: outputs.TableName });
      outputs = changed.outputs;
      expect(outputs.BucketName).toBe(externalBucket);
      expect(await operator.call('GET', '/v1/tenants/signed')).toMatchObject({ tenant: 'signed' });
    });

    it('takes a push of the real client', async () => {
      const { writeToken } = await operator.createTenant('acme', 4096 * kib);
      user = await GitUser.create({ url: front.url, token: writeToken });
      await user.git(user.home, 'config', '--global', 'http.sslCAInfo', deployment.emulator.certificateFile);
      remote = await user.createRemote('game');
      workTree = await user.createWorkTree('work', { remote, lfsUrl: `${front.url}/acme/game.git/info/lfs` });
      await writeFiles(workTree, files);
      await user.commitAll(workTree, 'Mixed files');
      await user.git(workTree, 'push', '--quiet', 'origin', 'main');
      expect(await stored('acme/game/')).toEqual(objects);
    });

    it('counts it through the queue, to the byte and object', async () => {
      const expected = total(objects);
      const counted = await operator.usageWithin({ tenant: 'acme', expected, timeoutMs: countedWithinMs });
      expect(counted).toMatchObject(expected);
    });

    it('gives it back byte-identical', async () => {
      await user.git(user.home, 'clone', '--quiet', remote, 'clone');
      expect(digests(await readFiles(join(user.home, 'clone')))).toEqual(digests(files));
    });

    it('refuses a push over the limit, and takes it once the limit is raised', async () => {
      const big: Files = new Map([['big.bin', bytesOf('big', 4096 * kib)]]);
      await writeFiles(workTree, big);
      await user.commitAll(workTree, 'Too big');
      const refused = await user.tryGit(workTree, ['push', 'origin', 'main']);
      expect(refused.code).not.toBe(0);
      expect(refused.err).toContain('over the storage limit of acme');
      expect(await stored('acme/game/')).toEqual(objects);
      await operator.call('PATCH', '/v1/tenants/acme', { limitBytes: 16_384 * kib });
      await user.git(workTree, 'push', '--quiet', 'origin', 'main');
      const all = new Map([...objects, ...objectsOf(big)]);
      expect(await stored('acme/game/')).toEqual(all);
      const expected = total(all);
      const counted = await operator.usageWithin({ tenant: 'acme', expected, timeoutMs: countedWithinMs });
      expect(counted).toMatchObject(expected);
    });

    it('finds by its schedule what changed behind its back', async () => {
      const before = await operator.usage('acme');
      const oid = createHash('sha256').update('smuggled').digest('hex');
      await deployment.s3.send(
        new PutObjectCommand({ Bucket: externalBucket, Key: `acme/game/${oid}`, Body: 'smuggled' }),
      );
      await countIsDue('acme');
      const expected = {
        storedBytes: (before?.storedBytes ?? 0) + 'smuggled'.length,
        objectCount: (before?.objectCount ?? 0) + 1,
      };
      // One interval of the schedule more.
      const timeoutMs = countedWithinMs + 60_000;
      expect(await operator.usageWithin({ tenant: 'acme', expected, timeoutMs })).toMatchObject(expected);
    });

    describe('as its clients see it', () => {
      beforeEach(({ task, skip }) => {
        const reason = notOfTheEmulator.get(task.name);
        if (reason !== undefined) skip(reason);
      });
      blackboxSuite(() => ({
        url: front.url,
        adminToken,
        countedWithinMs,
        putObject: async (key, content) => {
          await deployment.s3.send(new PutObjectCommand({ Bucket: externalBucket, Key: key, Body: content }));
        },
        ca: readFileSync(deployment.emulator.certificateFile),
      }));
    });

    it('deploys again without a change', async () => {
      const { printed } = await deployment.deploy(external);
      expect(printed).toContain('(no changes)');
    });

    it('wrote neither tokens nor signatures to its logs', async () => {
      const log = await deployment.emulator.log();
      expect(log).toContain('"message":"reconciled"');
      expect(log).not.toMatch(/lfsq_|lfsv_|X-Amz-Signature/);
      expect(log).not.toContain(adminToken);
    });

    async function stored(prefix: string): Promise<Map<string, number>> {
      const page = await deployment.s3.send(
        new ListObjectsV2Command({ Bucket: externalBucket, Prefix: prefix }),
      );
      return new Map((page.Contents ?? []).map(({ Key = '', Size = 0 }) => [Key.slice(prefix.length), Size]));
    }

    /** As if a day had passed since the tenant was counted. */
    async function countIsDue(tenant: string): Promise<void> {
      const { pk, sk } = tenantKey(tenant);
      await deployment.dynamoDb.send(
        new UpdateItemCommand({
          TableName: outputs.TableName,
          Key: { pk: { S: pk }, sk: { S: sk } },
          UpdateExpression: 'SET #due = :long_ago',
          ExpressionAttributeNames: { '#due': byDueIndex.sk },
          ExpressionAttributeValues: { ':long_ago': { N: '1' } },
        }),
      );
    }
  });
});
