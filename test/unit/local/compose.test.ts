import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import type { SignUploadInput } from '../../../lambda/core/store/rules/store.ts';
import { pausingSigner } from '../../../local/compose.ts';
import { listen } from '../../../local/system/loopback-server.ts';
import { composed } from '../../support/composed.ts';
import { StoreFixture } from '../../support/store-fixture.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

it('tries its own store by the address at which it is here', async () => {
  const store = await StoreFixture.start();
  const { url } = store;
  const { deps, close } = composed({ url, head: () => undefined, serve: () => {} });
  closers.push(close);
  expect(await deps.proveOnlyNew()).toEqual({ kind: 'holds' });
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
