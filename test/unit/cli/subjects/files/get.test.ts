import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { useTempFolders } from '../../../../support/temp-folder.ts';
import { cli } from '../../harness.ts';

/** `files get` with a server and a store that answer as they're told. */

const tempFolder = useTempFolders();
let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

it('names that others put into the bucket, and no file can have, keep no file from its download', async () => {
  const asked: string[] = [];
  server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    let text = '';
    for await (const piece of request) text += String(piece);
    const { url = '', method } = request;
    asked.push(text);
    const listed = ['photos/', 'photos/1', '../photos/2'].map((name) => ({ name, bytes: 2, storedAt: null }));
    const download = { name: 'photos/1', state: 'download', bytes: 2, url: `${base}/1` };
    const body = method === 'POST' ? { downloads: [download] } : { files: listed, nextCursor: null };
    response.setHeader('content-type', 'application/json');
    response.end(url === '/1' ? 'hi' : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const output = join(tempFolder(), 'got');
  const { code, out, err } = await cli(
    ['files', 'get', '--prefix', '', '--output', output, '--tenant', 'acme', '--repo', 'media'],
    { env: { LFS_QUOTA_URL: base, LFS_QUOTA_TOKEN: 'x' } },
  );
  expect([code, out]).toEqual([1, 'downloaded     1 file, 2 B\nfailed         2 files, 0 B\n']);
  expect(err).toMatch(/^photos\/: a name must be without empty/m);
  expect(readFileSync(join(output, 'photos/1'), 'utf8')).toBe('hi');
  expect(existsSync(join(output, '../photos'))).toBe(false);
  expect(asked[1]).toBe('{"files":[{"name":"photos/1"}],"lifetimeSeconds":1800}');
});
