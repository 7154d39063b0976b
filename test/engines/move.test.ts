import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { afterEach, expect, it, vi } from 'vitest';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import type { Table } from '../../lambda/core/table/requests.ts';
import { systemClock, systemIds } from '../../lambda/frame/aws/clock-and-ids.ts';
import { createInvocations } from '../../lambda/frame/aws/invocation-log.ts';
import { createPumps, defaultQueueTiming, queuesBy } from '../../local/background/queues.ts';
import { startSchedule, systemTimers } from '../../local/background/schedule.ts';
import { composeEmbedded, createFunctions } from '../../local/compose.ts';
import { openHttpFront } from '../../local/front.ts';
import { Turns } from '../../local/turns.ts';
import { commandLine, serve, useChildStacks } from '../support/child-stack.ts';
import { freePort } from '../support/free-port.ts';
import { batch, pull, push } from '../support/lfs-client.ts';
import { recordingLog } from '../support/recording-log.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { dynamoDbLocal, openEngineTable } from './dynamodb.ts';
import { describeOn } from './engine.ts';
import { createBucket, versitygw } from './s3.ts';

const adminToken = 'admin-token-of-the-move-tests-0123456789';
const region = 'us-east-1';
const lfsType = 'application/vnd.git-lfs+json';
const contentOf = (name: string, size = 100) => name.padEnd(size);
const oidOf = (content: string) => createHash('sha256').update(content).digest('hex');
type Bucket = Awaited<ReturnType<typeof createBucket>>;

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const tempFolder = useTempFolders();
const spawnServer = useChildStacks(serve);

/** `lfs-quota serve`, ready. */
async function start(data: string, { bucket, ...store }: Partial<Bucket>) {
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const place = ['--listen', address, '--data', data, '--public-url', url, '--rate', '0'];
  const elsewhere = bucket ? ['--store', store.endpoint ?? '', '--bucket', bucket] : [];
  const child = spawnServer([...place, ...elsewhere], {
    LFS_QUOTA_ADMIN_TOKEN: adminToken,
    AWS_ACCESS_KEY_ID: store.credentials?.accessKeyId ?? '',
    AWS_SECRET_ACCESS_KEY: store.credentials?.secretAccessKey ?? '',
  });
  await child.ready();
  const stop = async () => {
    child.process.kill('SIGTERM');
    expect((await child.ended()).exitCode).toBe(0);
  };
  return { url, stop, storeUrl: /^object store (\S+)$/m.exec(child.output.out)?.[1] ?? '' };
}

/** The deployed functions on a table of DynamoDB and a bucket. Their queue and schedule are this process's. */
async function deploy(table: Table, { bucket, endpoint, credentials }: Bucket) {
  const { log } = recordingLog();
  const [turns, invocations] = [new Turns(), createInvocations()];
  const timed = { clock: systemClock, timers: systemTimers, log };
  const timing = { ...defaultQueueTiming, quietMs: 20, quietMaxMs: 50, spacingMs: 10 };
  const { reconciles } = createPumps({ ...timed, invocations, table, timing });
  const url = `http://127.0.0.1:${await freePort()}`;
  const store = {
    kind: 'external',
    exportsAs: 'stream',
    forcePathStyle: true,
    endpoint,
    bucket,
    region,
    credentials: async () => credentials,
  } as const;
  const { deps, close } = composeEmbedded({
    database: table,
    store,
    url,
    ...queuesBy(async (name, messages) => {
      if (name === 'reconciles') await reconciles.send(messages as never);
    }),
    adminToken,
    turns,
    log,
    invocations,
    mailer: { send: async () => {} },
    queueGauges: [],
    allowsLoopbackWebhooks: false,
    adoptedRepos: [],
    clock: systemClock,
    ids: systemIds,
    settings: defaultSettings,
  });
  const functions = createFunctions(deps);
  const front = await openHttpFront({
    port: Number(new URL(url).port),
    functions: Promise.resolve(functions.http),
    clock: systemClock,
    log,
    turns,
  });
  await reconciles.deliverTo(functions.consumers.reconciles);
  const schedule = startSchedule(functions.refresh, { ...timed, firstDelayMs: 0, intervalMs: 500 });
  const stop = async () => {
    await front.close(5_000);
    await schedule.close(5_000);
    await reconciles.close(5_000);
    close();
  };
  return { url, stop };
}

/** All objects, by S3's API, as any S3 tool copies them. */
async function copyObjects(
  from: S3ClientConfig & { bucket: string },
  to: S3ClientConfig & { bucket: string },
) {
  const open = (config: S3ClientConfig) => new S3Client({ region, forcePathStyle: true, ...config });
  const [source, target] = [open(from), open(to)];
  const { Contents = [] } = await source.send(new ListObjectsV2Command({ Bucket: from.bucket }));
  for (const { Key } of Contents) {
    const { Body } = await source.send(new GetObjectCommand({ Bucket: from.bucket, Key }));
    const bytes = await Body?.transformToByteArray();
    await target.send(new PutObjectCommand({ Bucket: to.bucket, Key, Body: bytes ?? new Uint8Array() }));
  }
  for (const client of [source, target]) client.destroy();
  return Contents.length;
}

async function manage(url: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
  const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers };
  const answer = await fetch(`${url}/v1/tenants${path}`, init);
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** Once uploads may start: after a scan. */
const usageOf = (url: string) =>
  vi.waitFor(
    async () => {
      const tenant = await manage(url, '/demo');
      expect(tenant['uploadsFrom']).toBe(undefined);
      return tenant['usage'];
    },
    { timeout: 180_000, interval: 100 },
  );

async function lock(place: { url: string; token: string }, path: string) {
  const authorization = `Basic ${Buffer.from(`any:${place.token}`).toString('base64')}`;
  const answer = await fetch(`${place.url}/demo/art.git/info/lfs/locks`, {
    method: 'POST',
    headers: { authorization, accept: lfsType, 'content-type': lfsType },
    body: JSON.stringify({ path }),
  });
  return answer.status;
}

describeOn(dynamoDbLocal, (tableUrl) => {
  describeOn(versitygw, (endpoint) => {
    const table = (...args: readonly string[]) =>
      promisify(execFile)(process.execPath, ['--import', 'tsx', commandLine, ...args], {
        env: {
          PATH: process.env['PATH'],
          AWS_ENDPOINT_URL_DYNAMODB: tableUrl,
          AWS_ACCESS_KEY_ID: 'engine',
          AWS_SECRET_ACCESS_KEY: 'engine',
        },
      });

    it('a server moves to AWS and back, with tokens, locks, half-done uploads and exact usage', {
      timeout: 600_000,
    }, async () => {
      const folder = tempFolder();
      const [data, there, back] = [
        join(folder, 'data'),
        join(folder, 'there.jsonl'),
        join(folder, 'back.jsonl'),
      ];
      const first = await start(data, {});
      await manage(first.url, '', { tenant: 'demo', limitBytes: 1_000 });
      const { token } = (await manage(first.url, '/demo/tokens', { scope: 'write' })) as { token: string };
      const stored = [contentOf('one'), contentOf('two')];
      const old = { url: first.url, token };
      for (const content of stored) await push(old, content);
      expect(await lock(old, 'locked.psd')).toBe(201);
      // One upload has its URL alone, and one its object, too.
      const half = { operation: 'upload', oid: oidOf(contentOf('half', 300)), size: 300 } as const;
      expect((await batch(old, half)).actions).toHaveProperty('upload');
      const unverified = contentOf('unverified');
      const { actions } = await batch(old, { ...half, oid: oidOf(unverified), size: 100 });
      const { href = '', header } = actions?.['upload'] ?? {};
      expect((await fetch(href, { method: 'PUT', headers: header ?? {}, body: unverified })).status).toBe(
        200,
      );
      const credentials = JSON.parse(readFileSync(join(data, 'store-credentials.json'), 'utf8'));
      const bucket = await createBucket(endpoint, `move-${randomBytes(6).toString('hex')}`);
      expect(await copyObjects({ endpoint: first.storeUrl, bucket: '_objects', credentials }, bucket)).toBe(
        3,
      );
      await first.stop();

      const aws = await openEngineTable(tableUrl);
      closing.push(aws.close);
      const name = ['--name', aws.table.tableName];
      await table('table', 'backup', '--data', data, there);
      await table('table', 'restore', ...name, there, '--uploads-from', 'now');
      await table('table', 'finish', ...name, '--uploads-from', 'now');
      const deployed = await deploy(aws.table, bucket);
      const second = { url: deployed.url, token };
      // The schedule would do it within a minute, as the server has just scanned.
      await manage(second.url, '/demo/reconcile', {});
      // The upload whose object arrived is confirmed, and the other one still has its space.
      expect(await usageOf(second.url)).toMatchObject({
        storedBytes: 300,
        objectCount: 3,
        committedBytes: 600,
      });
      expect(await lock(second, 'locked.psd')).toBe(409);
      expect(await pull(second, { oid: oidOf(unverified), size: 100 })).toBe(unverified);
      await expect(push(second, contentOf('too large', 401))).rejects.toThrow('need not be uploaded');
      await push(second, contentOf('fits', 400));
      await expect(push(second, contentOf('x', 1))).rejects.toThrow('need not be uploaded');
      await deployed.stop();

      await table('table', 'backup', ...name, back);
      await table('table', 'restore', '--data', join(folder, 'back'), back, '--uploads-from', 'now');
      const last = await start(join(folder, 'back'), bucket);
      const third = { url: last.url, token };
      expect(await usageOf(third.url)).toMatchObject({
        storedBytes: 700,
        objectCount: 4,
        committedBytes: 1_000,
      });
      expect(await lock(third, 'locked.psd')).toBe(409);
      expect(await lock(third, 'other.psd')).toBe(201);
      for (const content of [...stored, unverified, contentOf('fits', 400)])
        expect(await pull(third, { oid: oidOf(content), size: content.length })).toBe(content);
      await expect(push(third, contentOf('x', 1))).rejects.toThrow('need not be uploaded');
      await last.stop();
    });
  });
});
