import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { defaultSettings } from '../../../lambda/core/rules/settings.ts';
import type { SignUploadInput } from '../../../lambda/core/store/rules/store.ts';
import { createDynamoDb } from '../../../lambda/core/table/client.ts';
import { systemClock, systemIds } from '../../../lambda/frame/aws/clock-and-ids.ts';
import { createInvocations } from '../../../lambda/frame/aws/invocation-log.ts';
import { queuesBy } from '../../../local/background/queues.ts';
import { composeEmbedded, embeddedStore, pausingSigner } from '../../../local/compose.ts';
import { listen } from '../../../local/system/loopback-server.ts';
import { Turns } from '../../../local/turns.ts';
import { recordingLog } from '../../support/recording-log.ts';
import { bucket, credentials, StoreFixture } from '../../support/store-fixture.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** The stack over this store, as if nobody reached its public URL from here. */
function composed(store: Parameters<typeof embeddedStore>[0], { writesUsage = false } = {}) {
  return composeEmbedded({
    database: {
      client: createDynamoDb({ region: 'local', credentials }),
      tableName: 'table',
    },
    store: embeddedStore(store, { bucket, credentials }),
    url: 'http://127.0.0.1:1',
    ...queuesBy(async () => undefined),
    mailer: { send: async () => {} },
    queueGauges: [],
    allowsLoopbackWebhooks: false,
    writesUsage,
    adoptedRepos: [],
    adminToken: 'admin',
    clock: systemClock,
    ids: systemIds,
    log: recordingLog().log,
    invocations: createInvocations(),
    settings: defaultSettings,
    turns: new Turns(),
  });
}

it('tries its own store by the address at which it is here', async () => {
  const store = await StoreFixture.start();
  const { url } = store;
  const { deps, close } = composed({ url, head: () => undefined, serve: () => {} });
  closers.push(close);
  expect(await deps.proveOnlyNew()).toEqual({ kind: 'holds' });
  await store.stop();
});

it('writes files of usage to its own store, empty ones too, if that is set', async () => {
  const store = await StoreFixture.start();
  const at = { url: store.url, head: () => undefined };
  const [on, off] = [composed(at, { writesUsage: true }), composed(at)];
  closers.push(on.close, off.close);
  expect(off.deps.usageFiles).toBeUndefined();
  const files = on.deps.usageFiles;
  for (const text of ['', '{"id":"1"}\n', '{"id":"1"}\n']) {
    await files?.archives.put('_usage/2026/11/28/07.jsonl', Buffer.from(text));
    expect((await files?.listing.listPage({ prefix: '_usage/' }))?.totalBytes).toBe(text.length);
  }
  await store.stop();
});

/** Longer than the 10 s that a client waits for AWS. */
const busyMs = 11_000;

it('waits for its own store while this process is busy', { timeout: busyMs + 10_000 }, async () => {
  let requests = 0;
  const server = createServer({ keepAliveTimeout: 60_000 }, async (_request, response) => {
    requests += 1;
    await delay(busyMs);
    response.writeHead(204).end();
  });
  const port = await listen(server, { port: 0, usedBy: 'the test' });
  const { deps, close } = composed({ url: `http://127.0.0.1:${port}`, head: () => undefined });
  closers.push(close, () => server.close());
  await deps.store.delete(['acme/art/oid'], { deadlineMs: Date.now() + 60_000 });
  expect(requests).toBe(1);
});

const download = { key: 'acme/art/a', signedAtMs: 1, lifetimeMs: 2 };
const upload: SignUploadInput = { ...download, oid: 'a', sizeBytes: 3 };

it('signs as the signer does, each time after its turn', async () => {
  const calls: unknown[] = [];
  const signer = pausingSigner(
    {
      signUpload: async (input) => {
        calls.push(input);
        return { href: 'up', header: {} };
      },
      signDownload: async (input) => {
        calls.push(input);
        return { href: 'down', header: {} };
      },
    },
    {
      pauseAfter: async (pieces) => {
        calls.push(pieces);
      },
    },
  );
  expect(await signer.signUpload(upload)).toEqual({ href: 'up', header: {} });
  expect(await signer.signDownload(download)).toEqual({ href: 'down', header: {} });
  expect(calls).toEqual([128, upload, 128, download]);
});
