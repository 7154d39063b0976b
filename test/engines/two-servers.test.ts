import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDynamoDb } from '../../lambda/core/table/client.ts';
import { queuePartitions } from '../../local/background/kept.ts';
import { push } from '../support/lfs-client.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { dynamoDbLocal } from './dynamodb.ts';
import { describeOn } from './engine.ts';

const main = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
const { ENGINE_S3_URL: storeUrl = '', ENGINE_S3_ACCESS_KEY: accessKeyId = '' } = process.env;
const secretAccessKey = process.env['ENGINE_S3_SECRET_KEY'] ?? '';
const adminToken = 'admin-token-of-two-servers-0123456789';
const limitBytes = 1_000_000;
const rounds = 50;
const patiently = { timeout: 120_000, interval: 500 };

interface Server {
  readonly child: ChildProcess;
  readonly url: string;
  ended: Promise<unknown>;
}

describeOn(dynamoDbLocal, (tableUrl) => {
  const tempFolder = useTempFolders();
  const bucket = `two-${randomUUID()}`;
  const tableName = `two-${randomUUID()}`;
  const credentials = { accessKeyId, secretAccessKey };
  const servers: Server[] = [];

  async function start(port: number): Promise<Server> {
    const url = `http://127.0.0.1:${port}`;
    const place = [
      '--listen',
      `127.0.0.1:${port}`,
      '--data',
      tempFolder(),
      '--public-url',
      url,
      '--rate',
      '0',
    ];
    const shared = [
      '--table-url',
      tableUrl,
      '--table-name',
      tableName,
      '--store',
      storeUrl,
      '--bucket',
      bucket,
    ];
    const child = spawn(process.execPath, ['--import', 'tsx', main, 'serve', ...place, ...shared], {
      env: {
        PATH: process.env['PATH'],
        LFS_QUOTA_ADMIN_TOKEN: adminToken,
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: secretAccessKey,
      },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += String(chunk);
      });
    const ended = new Promise((done) => child.once('exit', done));
    await Promise.race([
      expect.poll(() => output, patiently).toContain('ready http'),
      ended.then(() => Promise.reject(new Error(`It ended: ${output}`))),
    ]);
    const server = { child, url, ended };
    servers.push(server);
    return server;
  }

  const client = createDynamoDb({ endpoint: tableUrl, region: 'us-east-1', credentials });
  const leader = async () => {
    const Key = { pk: queuePartitions.leader, sk: 'LEADER' };
    const { Item } = await client.send('GetItem', { TableName: tableName, Key, ConsistentRead: true });
    return { number: Number(Item?.['number'] ?? 0), untilMs: Number(Item?.['untilMs'] ?? 0) };
  };
  const waiting = async () => {
    const { inbox: pk, reconciles } = queuePartitions;
    const counts = [pk, reconciles].map(async (of) => {
      const { Items = [] } = await client.send('Query', {
        TableName: tableName,
        KeyConditionExpression: '#pk = :pk',
        ExpressionAttributeNames: { '#pk': 'pk' },
        ExpressionAttributeValues: { ':pk': of },
        ConsistentRead: true,
      });
      return Items.length;
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  };

  async function ask(url: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const answer = await fetch(`${url}/v1/tenants${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, unknown>;
  }

  /** @returns the status of a batch of one object, or of the object. */
  async function batch(url: string, token: string, tenant: string, size: number): Promise<number> {
    const oid = createHash('sha256').update(randomUUID()).digest('hex');
    const answer = await fetch(`${url}/${tenant}/art.git/info/lfs/objects/batch`, {
      method: 'POST',
      headers: {
        accept: 'application/vnd.git-lfs+json',
        'content-type': 'application/vnd.git-lfs+json',
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({ operation: 'upload', transfers: ['basic'], objects: [{ oid, size }] }),
    });
    const { objects } = (await answer.json()) as { objects?: [{ error?: { code: number } }] };
    return objects?.[0].error?.code ?? answer.status;
  }

  async function newTenant(url: string, tenant: string): Promise<string> {
    await ask(url, '', { tenant, limitBytes });
    return String((await ask(url, `/${tenant}/tokens`, { scope: 'write' }))['token']);
  }

  beforeAll(async () => {
    const s3 = new S3Client({ endpoint: storeUrl, region: 'us-east-1', forcePathStyle: true, credentials });
    await s3.send(new CreateBucketCommand({ Bucket: bucket }));
    s3.destroy();
  });
  afterAll(async () => {
    for (const { child, ended } of servers) {
      child.kill('SIGKILL');
      await ended;
    }
  });

  it('serve from one table: the limit is one, and what is pending survives each of them', {
    timeout: 600_000,
  }, async () => {
    const base = 20_000 + (process.pid % 20_000);
    const first = await start(base);
    // The first that started leads. The other one waits.
    await expect.poll(leader, patiently).toMatchObject({ number: 1 });
    const second = await start(base + 1);
    const token = await newTenant(first.url, 'demo');
    let bytes = 0;
    const pushTo = async ({ url }: Server) => {
      const content = `content ${randomUUID()}`;
      bytes += content.length;
      await push({ url, token }, content);
    };
    for (const server of [first, second, first, second]) await pushTo(server);

    // Two batches, each of more than half of the limit.
    let passedInAll = 0;
    for (let round = 0; round < rounds; round += 1) {
      const tenant = `round-${round}`;
      const own = await newTenant(first.url, tenant);
      const both = [first, second].map(({ url }) => batch(url, own, tenant, limitBytes * 0.6));
      const statuses = await Promise.all(both);
      const passed = statuses.filter((status) => status === 200).length;
      // 429: it can't be said yet, so git-lfs tries again.
      for (const status of statuses) expect([200, 429, 507]).toContain(status);
      expect(passed).toBeLessThanOrEqual(1);
      passedInAll += passed;
    }
    expect(passedInAll).toBeGreaterThan(rounds / 2);

    await pushTo(second);
    expect(await waiting()).toBeGreaterThan(0);
    first.child.kill('SIGKILL');
    await first.ended;
    await pushTo(second);
    await expect.poll(leader, patiently).toMatchObject({ number: 2 });
    await expect.poll(waiting, patiently).toBe(0);
    const usage = async () => (await ask(second.url, '/demo'))['usage'] as { storedBytes: number };
    await expect.poll(async () => (await usage()).storedBytes, patiently).toBe(bytes);

    const third = await start(base + 2);
    await pushTo(second);
    second.child.kill('SIGTERM');
    await second.ended;
    // It gave the lease up: nobody waits for its end.
    await expect.poll(async () => (await leader()).number, patiently).toBe(3);
    await expect.poll(waiting, patiently).toBe(0);
    const last = async () => (await ask(third.url, '/demo'))['usage'] as { storedBytes: number };
    await expect.poll(async () => (await last()).storedBytes, patiently).toBe(bytes);
  });
});
