import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExportBody } from '../../../../../lambda/subjects/exports/contract.ts';
import { done, exportBody } from '../../../../support/subjects/exports/export-bodies.ts';
import { cli } from '../../harness.ts';

const content = randomBytes(300_000);
const { exportId } = exportBody();
const opened: { close: () => void }[] = [];
let folder: string;
let file: string;
let partFile: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lfs-quota-download-'));
  file = join(folder, 'acme.tar');
  partFile = `${file}.${exportId}.part`;
});
afterEach(() => {
  for (const { close } of opened.splice(0)) close();
  rmSync(folder, { recursive: true });
});

/** What a store does with one download, of which `from` is the first byte that is asked for. */
type Conduct = (response: ServerResponse, from: number) => void;

/** Sends what is asked for. */
const sends: Conduct = (response, from) => {
  const range = { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` };
  response.writeHead(from > 0 ? 206 : 200, from > 0 ? range : {}).end(content.subarray(from));
};
/** Once the client has written so much down. */
function onceWritten(length: number, then: () => void): void {
  const timer = setInterval(() => {
    if (statSync(partFile, { throwIfNoEntry: false })?.size !== length) return;
    clearInterval(timer);
    then();
  }, 5);
}

/** Sends so much of it, and breaks the connection. */
const breaksAfter =
  (bytes: number): Conduct =>
  (response, from) => {
    response.writeHead(from > 0 ? 206 : 200, {
      'content-length': content.length - from,
      ...(from > 0 && { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` }),
    });
    response.write(content.subarray(from, from + bytes));
    onceWritten(from + bytes, () => response.destroy());
  };
const refuses =
  (status: number): Conduct =>
  (response) =>
    response.writeHead(status).end('<Error><Code>AccessDenied</Code></Error>');

/** An API with one export, and a store that does each of these in turn. The last one stays. */
async function serve(conducts: readonly Conduct[], archives = 1, user = '', job: Partial<ExportBody> = {}) {
  const asked: string[] = [];
  let downloads = 0;
  let urls = 0;
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const url = request.url ?? '';
    if (url.startsWith('/store')) {
      const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
      asked.push(`${url} from ${from}`);
      expect(request.headers).not.toHaveProperty('authorization');
      conducts[Math.min(downloads, conducts.length - 1)]?.(response, from);
      downloads += 1;
      return;
    }
    urls += 1;
    const { port } = server.address() as AddressInfo;
    const list = Array.from({ length: archives }, (_, index) => ({
      name: archives === 1 ? 'acme.tar' : `acme-${index + 1}-of-${archives}.tar`,
      sizeBytes: content.length,
      url: `http://${user}127.0.0.1:${port}/store/${index}?${urls}`,
      urlExpiresAt: '2026-11-21T05:30:00Z',
    }));
    response.end(JSON.stringify(done('', { archives: list, ...job })));
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, onRequest).listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = { LFS_QUOTA_URL: url, LFS_QUOTA_TOKEN: 't' };
  const run = (output = file, options: Omit<Parameters<typeof cli>[1], 'env'> = {}) =>
    cli(['export', 'show', 'acme', exportId, '--output', output], { env, ...options });
  return { asked, run };
}

describe('a download of an archive', () => {
  it('writes it, and says how to use it', async () => {
    const { asked, run } = await serve([sends]);
    const { code, out, err } = await run();
    expect(code).toBe(0);
    expect(err).toMatch(/^acme\.tar: \d0 %\n$/);
    expect(out).toContain(`${file}: 292.97 KiB\n`);
    expect(out).toContain(`tar -x -C .git -f ${file}\n`);
    expect(readFileSync(file).equals(content)).toBe(true);
    expect(readdirSync(folder)).toEqual(['acme.tar']);
    expect(asked).toEqual(['/store/0?1 from 0']);
  });

  it.each([
    ['tar', false, 'tar -x -C .git -f'],
    ['tar', true, 'tar -x -f'],
    ['zip', false, 'unzip -d .git'],
    ['zip', true, 'unzip'],
  ] as const)(
    'says how to use the files it wrote, wherever they are: %s, named: %s',
    async (format, named, command) => {
      const [one, two] = [
        await serve([sends], 1, '', { format, named }),
        await serve([sends], 2, '', { format, named }),
      ];
      const other = join(folder, "it's mine");
      const shown = join(folder, "it'\\''s mine");
      const written = await one.run(relative('', other));
      expect(readFileSync(other).equals(content)).toBe(true);
      expect(written.out).toContain(`  ${command} '${shown}'\n`);
      expect(written.out).not.toContain('acme.tar');
      const both = await two.run(folder);
      for (const index of [1, 2])
        expect(both.out).toContain(`  ${command} ${join(folder, `acme-${index}-of-2.tar`)}\n`);
    },
  );

  it('goes on after a break, with a new URL', async () => {
    const { asked, run } = await serve([breaksAfter(100_000), breaksAfter(50_000), sends]);
    expect(await run()).toMatchObject({ code: 0 });
    expect(readFileSync(file).equals(content)).toBe(true);
    expect(asked).toEqual(['/store/0?1 from 0', '/store/0?2 from 100000', '/store/0?3 from 150000']);
  });

  it('goes on with what an earlier one has left', async () => {
    writeFileSync(partFile, content.subarray(0, 123_456));
    const { asked, run } = await serve([sends]);
    expect(await run()).toMatchObject({ code: 0 });
    expect(readFileSync(file).equals(content)).toBe(true);
    expect(asked).toEqual(['/store/0?1 from 123456']);
  });

  it('asks for nothing of one that had arrived whole', async () => {
    writeFileSync(partFile, content);
    const { asked, run } = await serve([sends]);
    expect(await run()).toMatchObject({ code: 0 });
    expect([asked, readdirSync(folder)]).toEqual([[], ['acme.tar']]);
  });

  it.each([
    {
      what: 'a store that knows no ranges',
      left: 1000,
      conduct: (response: ServerResponse) => response.end(content),
    },
    { what: 'what is longer than the archive', left: 400_000, conduct: sends },
  ])('begins anew with $what', async ({ left, conduct }) => {
    writeFileSync(partFile, randomBytes(left));
    const { run } = await serve([conduct]);
    expect(await run()).toMatchObject({ code: 0 });
    expect(readFileSync(file).equals(content)).toBe(true);
  });

  it('asks for a new URL when its own has expired', async () => {
    const { asked, run } = await serve([refuses(403), sends]);
    expect(await run()).toMatchObject({ code: 0 });
    expect(asked).toEqual(['/store/0?1 from 0', '/store/0?2 from 0']);
  });

  it('gives up after six attempts that bring nothing, keeps what it has, and says how to go on', async () => {
    const pauses: number[] = [];
    const { asked, run } = await serve([breaksAfter(100_000), refuses(503)]);
    const sleep = (durationMs?: number) => {
      pauses.push(durationMs ?? 0);
      return Promise.resolve();
    };
    const { code, err } = await run(file, { sleep });
    expect(code).toBe(6);
    expect(err).toContain("The archive isn't complete. The store returned 503");
    expect(err).toContain(`lfs-quota export show acme ${exportId} --output ${file}`);
    expect(asked).toHaveLength(6);
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000]);
    expect(readFileSync(partFile).equals(content.subarray(0, 100_000))).toBe(true);
    expect(existsSync(file)).toBe(false);
  });

  it('gives up a store that knows no ranges if no attempt gets further than one before', async () => {
    const breaks = Array.from({ length: 8 }, (_, turn): Conduct => {
      const length = turn % 2 === 0 ? 100_000 : 200_000;
      return (response) => {
        response.writeHead(200, { 'content-length': content.length }).write(content.subarray(0, length));
        onceWritten(length, () => response.destroy());
      };
    });
    const { asked, run } = await serve([...breaks, sends]);
    expect(await run()).toMatchObject({ code: 6 });
    expect(asked).toHaveLength(2 + 5);
  });

  it('writes to no file to which a link leads', async () => {
    const other = join(folder, 'other');
    writeFileSync(other, 'mine');
    symlinkSync(other, partFile);
    const { asked, run } = await serve([sends]);
    expect(await run()).toMatchObject({ code: 1, err: expect.stringContaining('(ELOOP)') });
    expect([asked, readFileSync(other, 'utf8')]).toEqual([[], 'mine']);
  });

  it('refuses a range that is not the one it asked for', async () => {
    writeFileSync(partFile, content.subarray(0, 1000));
    const wrong: Conduct = (response) =>
      response.writeHead(206, { 'content-range': 'bytes 0-99/100' }).end(content.subarray(0, 100));
    const { run } = await serve([wrong]);
    expect((await run()).err).toContain('The store returned 206');
    expect(readFileSync(partFile).equals(content.subarray(0, 1000))).toBe(true);
  });

  it('stops at Ctrl-C, keeps what it has, and says how to go on', async () => {
    let interrupt = () => {};
    const hangs: Conduct = (response) => {
      response.writeHead(200, { 'content-length': content.length });
      response.write(content.subarray(0, 70_000));
      onceWritten(70_000, () => interrupt());
    };
    const { run } = await serve([hangs]);
    const onInterrupt = (listener: () => void) => {
      interrupt = listener;
      return () => undefined;
    };
    const { code, err } = await run(file, { onInterrupt });
    expect(code).toBe(130);
    expect(err).toContain('Stopped.');
    expect(err).toContain('The downloaded part is kept.');
    expect(readFileSync(partFile).equals(content.subarray(0, 70_000))).toBe(true);
  });

  it('does not replace a file that appears meanwhile', async () => {
    const appears: Conduct = (response, from) => {
      writeFileSync(file, 'mine');
      sends(response, from);
    };
    const { run } = await serve([appears]);
    const { code, err } = await run();
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining(`${file} exists by now. All of it is in ${partFile}.`),
    });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(readFileSync(partFile).equals(content)).toBe(true);
  });

  it('is right though something else writes to its file', async () => {
    const conduct: Conduct = (response, from) => {
      appendFileSync(partFile, randomBytes(1000));
      if (from === 0) breaksAfter(100_000)(response, from);
      else sends(response, from);
    };
    const { run } = await serve([conduct]);
    expect(await run()).toMatchObject({ code: 0 });
    expect(readFileSync(file).equals(content)).toBe(true);
  });

  it('tells nobody a URL that cannot be used', async () => {
    const { run } = await serve([sends], 1, 'user:secret@');
    const { code, err } = await run();
    expect({ code, err }).toEqual({ code: 6, err: expect.stringContaining('The connection failed.') });
    expect(err).not.toContain('secret');
  });

  it('puts several archives into a folder, and goes on with the ones that are missing', async () => {
    const { asked, run } = await serve([sends], 3);
    expect((await run(file)).err).toContain('There are 3 archives');
    writeFileSync(join(folder, 'acme-1-of-3.tar'), content);
    expect(await run(folder)).toMatchObject({ code: 0 });
    expect(readdirSync(folder).sort()).toEqual([1, 2, 3].map((number) => `acme-${number}-of-3.tar`));
    expect(asked).toHaveLength(2);
    writeFileSync(join(folder, 'acme-1-of-3.tar'), 'other');
    expect((await run(folder)).err).toContain('acme-1-of-3.tar already exists');
  });

  it('says how to go on with several archives in a folder', async () => {
    const { run } = await serve([refuses(503)], 3);
    const { code, err } = await run(folder);
    expect({ code, err }).toEqual({ code: 6, err: expect.stringContaining(`--output ${folder}\n`) });
  });

  it('shows how far it is on a terminal', async () => {
    const { run } = await serve([sends]);
    const { err } = await run(file, { isTerminal: true });
    expect(err).toContain('\r\u001b[Kacme.tar: ');
    expect(err.endsWith('\r\u001b[K')).toBe(true);
    expect(err).toMatch(/\d+\.\d %, [\d.]+ KiB of 292\.97 KiB/);
  });
});
