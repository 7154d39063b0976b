import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { OtherRepo } from '../../../cli/move/other-repo.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../../local/start.ts';
import { closeServer, listen } from '../../../local/system/loopback-server.ts';
import { useTempFolders } from '../../support/temp-folder.ts';
import { cli } from './harness.ts';
import { OtherServer } from './other-server.ts';

const tempFolder = useTempFolders();
const dataDir = mkdtempSync(path.join(tmpdir(), 'lfs-quota-move-'));
let stack: EmbeddedStack;
let other: OtherServer;
let clone: string;
let tenant: string;
let token: string;
let tenants = 0;

beforeAll(async () => {
  stack = await startEmbeddedStack({ port: 0, dataDir, createDemo: false, allowsLoopbackWebhooks: true });
});
afterAll(async () => {
  await stack.close();
  rmSync(dataDir, { recursive: true });
});
beforeEach(async () => {
  other = await new OtherServer().start();
  clone = tempFolder();
  git('init', '-q');
  tenants += 1;
  tenant = `acme-${tenants}`;
  await manage('POST', '', { tenant, limitBytes: null });
  const made = await manage('POST', `/${tenant}/tokens`, { scope: 'write' });
  token = tokenShape.parse(made).token;
});
afterEach(() => other.close());

function git(...args: string[]): string {
  const user = ['-c', 'user.name=ada', '-c', 'user.email=ada@example.com'];
  return execFileSync('git', ['-C', clone, ...user, ...args], { encoding: 'utf8' });
}

async function manage(method: string, place: string, body?: unknown): Promise<unknown> {
  const headers = { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return (await fetch(`${stack.url}/v1/tenants${place}`, { method, headers, ...sent })).json();
}

const tokenShape = z.object({ token: z.string() });

const oidOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Commits a pointer for each. */
function commit(...objects: readonly Buffer[]): void {
  for (const bytes of objects) {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oidOf(bytes)}\nsize ${bytes.length}\n`;
    writeFileSync(path.join(clone, `${oidOf(bytes).slice(0, 12)}.bin`), pointer);
  }
  git('add', '.');
  git('commit', '-q', '-m', 'Large files');
}

type Options = Parameters<typeof cli>[1];

const env = () => ({ LFS_QUOTA_URL: stack.url, LFS_QUOTA_TOKEN: token });
const from = () => `${other.url}/acme/game.git`;
const runImport = (options: Options = {}, url = from()) =>
  cli(['import', tenant, 'game', '--from', url, '--clone', clone], { env: env(), ...options });
const runMirror = (options: Options = {}) =>
  cli(['mirror', tenant, 'game', '--to', from()], { env: env(), ...options });

const listShape = z.object({ objects: z.array(z.object({ oid: z.string() })) });
async function stored(): Promise<string[]> {
  const { objects } = listShape.parse(await manage('GET', `/${tenant}/objects`));
  return objects.map(({ oid }) => oid).sort();
}

const batchShape = z.object({
  objects: z.array(z.object({ actions: z.object({ download: z.object({ href: z.string() }) }) })),
});

/** What is stored of it. */
async function storedBytes(bytes: Buffer): Promise<Buffer> {
  const objects = [{ oid: oidOf(bytes), size: bytes.length }];
  const body = JSON.stringify({ operation: 'download', objects });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.git-lfs+json' };
  const url = `${stack.url}/${tenant}/game/info/lfs/objects/batch`;
  const answer = batchShape.parse(await (await fetch(url, { method: 'POST', headers, body })).json());
  const href = answer.objects[0]?.actions.download.href ?? '';
  return Buffer.from(await (await fetch(href)).arrayBuffer());
}

const reservationsShape = z.object({ reservations: z.array(z.object({ objectCount: z.number() })) });

/** Of all sizes that are treated in a way of their own. */
const sizes = [0, 1, 4_000, 1024 ** 2 - 1, 1024 ** 2, 9_000_000];
const made = () => sizes.map((size) => randomBytes(size));

describe('import', () => {
  it('copies what the clone needs, bytes and all, and nothing twice', async () => {
    const objects = made();
    const oids = other.store(...objects, Buffer.from('of no commit'));
    commit(...objects);
    const first = await runImport();
    expect(first).toEqual({ code: 0, err: expect.any(String), out: 'copied         6 objects, 10.59 MiB\n' });
    expect(await stored()).toEqual(oids.slice(0, 6).sort());
    for (const bytes of objects) expect((await storedBytes(bytes)).equals(bytes)).toBe(true);
    const gets: string[] = [];
    other.onRequest = (what) => gets.push(what);
    expect(await runImport()).toMatchObject({
      code: 0,
      out: 'copied         0 objects, 0 B\nalready there  6 objects, 10.59 MiB\n',
    });
    expect(gets).toEqual([]);
  });

  it('asks git for a login, and sends it to that server alone', async () => {
    const objects = made();
    other.store(...objects);
    other.login = 'ada:secret';
    commit(...objects);
    expect(await runImport()).toMatchObject({ code: 4, err: expect.stringContaining('git has none for it') });
    git('config', 'credential.helper', '!f() { echo username=ada; echo password=secret; }; f');
    expect(await runImport()).toMatchObject({ code: 0 });
    expect(await stored()).toHaveLength(6);
    const inUrl = await runImport({}, from().replace('//', '//ada:wrong@'));
    // Nothing is missing, so nobody is asked.
    expect(inUrl).toMatchObject({ code: 0 });
    commit(randomBytes(7));
    const refused = await runImport({}, from().replace('//', '//ada:wrong@'));
    expect(refused).toMatchObject({ code: 4, err: expect.stringContaining('returned 401') });
    expect(refused.err).not.toContain('wrong');
  });

  it('tries again with a login that another batch has found meanwhile', async () => {
    git('config', 'credential.helper', '!f() { echo username=ada; echo password=secret; }; f');
    let tellOfLogin = (): void => undefined;
    const withLogin = new Promise<void>((tell) => (tellOfLogin = tell));
    let withoutLogin = 0;
    const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
      if (request.headers.authorization) tellOfLogin();
      else if (withoutLogin++ > 0) await withLogin;
      response.writeHead(request.headers.authorization ? 200 : 401).end('{"objects":[]}');
    });
    const port = await listen(server, { port: 0, usedBy: 'the test' });
    try {
      const repo = new OtherRepo({ url: `http://127.0.0.1:${port}`, login: undefined }, clone);
      const answers = await Promise.all([repo.batch({}), repo.batch({})]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    } finally {
      await closeServer(server, 0);
    }
  });

  it('never stores other bytes, and says which they were', async () => {
    const objects = made();
    const oids = other.store(...objects);
    commit(...objects);
    // Of the same length, shorter, longer, and none.
    other.lies.set(oids[1] ?? '', Buffer.from('x'));
    other.lies.set(oids[3] ?? '', Buffer.alloc(1000));
    other.lies.set(oids[4] ?? '', Buffer.alloc(1024 ** 2));
    other.lies.set(oids[5] ?? '', Buffer.alloc(9_000_001));
    const { code, err } = await runImport();
    expect(code).toBe(1);
    expect(err).toContain('4 objects failed');
    expect(err).toContain('other bytes than the pointer says');
    expect(err).not.toContain('secret');
    expect(await stored()).toEqual([oids[0], oids[2]].sort());
    other.lies.clear();
    expect(await runImport()).toMatchObject({ code: 0 });
    expect(await stored()).toEqual([...oids].sort());
  });

  it('copies all else if the other server has lost some', async () => {
    const objects = made();
    const oids = other.store(...objects.slice(1));
    commit(...objects);
    const { code, out, err } = await runImport();
    expect({ code, out }).toEqual({
      code: 3,
      out: expect.stringContaining('copied         5 objects, 10.59 MiB\nmissing        1 object, 0 B\n'),
    });
    expect(err).toContain(`doesn't have 1 object:\n${oidOf(objects[0] ?? Buffer.of())}`);
    expect(await stored()).toEqual([...oids].sort());
    // An upload that can't come is not reserved.
    const { reservations } = reservationsShape.parse(await manage('GET', `/${tenant}/reservations`));
    expect(reservations.reduce((sum, { objectCount }) => sum + objectCount, 0)).toBe(5);
  });

  it('at the limit stops, says what is missing, and goes on with a higher one', async () => {
    const objects = made();
    other.store(...objects);
    commit(...objects);
    await manage('PATCH', `/${tenant}`, { limitBytes: 5_000_000 });
    const { code, err } = await runImport();
    expect(code).toBe(5);
    expect(err).toContain('Storage limit reached');
    expect(err).toMatch(/\d objects, [\d.]+ MiB are missing/);
    await manage('PATCH', `/${tenant}`, { limitBytes: null });
    expect(await runImport()).toMatchObject({ code: 0 });
    expect(await stored()).toHaveLength(6);
  });

  it('waits as long as a busy server asks, and tries again what broke off', async () => {
    const objects = made();
    const oids = other.store(...objects);
    commit(...objects);
    other.batchAnswers.push({ status: 429, headers: { 'retry-after': '77' } }, { status: 503 });
    other.lies.set(oids[5] ?? '', undefined);
    const waited: number[] = [];
    const sleep = async (...args: unknown[]) => {
      waited.push(args[0] as number);
      if (waited.length === 3) other.lies.clear();
    };
    expect(await runImport({ sleep })).toMatchObject({ code: 0 });
    expect(waited.slice(0, 2)).toEqual([77_000, 1000]);
    expect(await stored()).toHaveLength(6);
  });

  it.each([
    [
      'https://git.example.com/new/game.git/info/lfs/objects/batch?token=secret',
      'https://git.example.com/new/game.git/info/lfs',
    ],
    ['/new/game.git/info/lfs/objects/batch', 'http://127.0.0.1:PORT/new/game.git/info/lfs'],
  ])('of a server that moved says where to: %s', async (location, to) => {
    const objects = made();
    other.store(...objects);
    commit(...objects);
    other.batchAnswers.push({ status: 308, headers: { location } });
    const { code, err } = await runImport();
    expect(code).toBe(1);
    const url = to.replace('PORT', new URL(other.url).port);
    expect(err).toContain(`returned 308 for downloads: It moved. Use ${url}\n`);
    expect(err).not.toContain('secret');
  });

  it('asks again if the connection breaks, but not for ever, and says how to go on', async () => {
    const objects = made();
    other.store(...objects);
    commit(...objects);
    const waited: number[] = [];
    const sleep = async (...args: unknown[]) => void waited.push(args[0] as number);
    other.batchAnswers.push('breaks off', 'breaks off', 'breaks off');
    expect(await runImport({ sleep })).toMatchObject({ code: 0 });
    expect(waited).toHaveLength(3);
    expect(await stored()).toHaveLength(6);
    // Something is still missing.
    commit(randomBytes(7));
    let batches = 0;
    other.onRequest = () => {
      batches += 1;
    };
    other.batchAnswers.push(...Array.from({ length: 50 }, () => 'breaks off' as const));
    const broken = await runImport({ sleep });
    expect(broken).toMatchObject({ code: 6, err: expect.stringMatching(/Can't reach http:\/\/127/) });
    expect(broken.err).toContain('Run the command again: it continues');
    expect(batches).toBe(6);
  });

  it('takes null for what is left out, and nothing for an answer that is none', async () => {
    const objects = made();
    const oids = other.store(...objects);
    commit(...objects);
    other.batchOf = (answers) => ({
      objects: answers.map((answer) => ({ error: null, authenticated: null, ...answer })),
    });
    expect(await runImport()).toMatchObject({ code: 0 });
    expect(await stored()).toEqual([...oids].sort());
    commit(randomBytes(7));
    other.batchOf = () => 'Sign in to Example';
    expect(await runImport()).toMatchObject({
      code: 1,
      err: expect.stringContaining('returned no LFS batch for downloads'),
    });
    other.batchOf = () => 'x'.repeat(5_000_000);
    expect(await runImport()).toMatchObject({ code: 6, err: expect.stringContaining('answer is too long') });
  });

  it('refuses what is no full clone, and what is no repository', async () => {
    expect(await runImport({}, 'github.com/acme/game')).toMatchObject({
      code: 2,
      err: expect.stringContaining('https://github.com/acme/game.git'),
    });
    commit(randomBytes(3));
    const shallow = tempFolder();
    commit(randomBytes(4));
    execFileSync('git', ['clone', '-q', '--depth', '1', `file://${clone}`, shallow]);
    clone = shallow;
    expect(await runImport()).toMatchObject({ code: 1, err: expect.stringContaining('shallow') });
  });

  it('stopped at any request, ends the same once it is run again', async () => {
    const objects = made();
    const oids = other.store(...objects);
    commit(...objects);
    let requests = 0;
    other.onRequest = () => {
      requests += 1;
    };
    expect(await runImport()).toMatchObject({ code: 0 });
    // A batch of the large ones, one of the small ones, and each object.
    expect(requests).toBe(2 + oids.length);
    for (let at = 1; at <= 2 + oids.length; at += 1) {
      await manage('POST', '', { tenant: `${tenant}-${at}`, limitBytes: null });
      const admin = await manage('POST', `/${tenant}-${at}/tokens`, { scope: 'write' });
      const own = {
        LFS_QUOTA_URL: stack.url,
        LFS_QUOTA_TOKEN: z.object({ token: z.string() }).parse(admin).token,
      };
      const args = ['import', `${tenant}-${at}`, 'game', '--from', from(), '--clone', clone];
      let stop = () => {};
      let seen = 0;
      other.onRequest = () => {
        seen += 1;
        if (seen === at) stop();
      };
      const onInterrupt = (listener: () => void) => {
        stop = listener;
        return () => undefined;
      };
      expect(await cli(args, { env: own, onInterrupt })).toMatchObject({ code: 130 });
      other.onRequest = () => undefined;
      expect(await cli(args, { env: own })).toMatchObject({ code: 0 });
      const { objects: there } = listShape.parse(await manage('GET', `/${tenant}-${at}/objects`));
      expect(there.map(({ oid }) => oid).sort()).toEqual([...oids].sort());
    }
  });
});

describe('import --via service', () => {
  const viaService = (options: Options = {}) =>
    cli(['import', tenant, 'game', '--from', from(), '--clone', clone, '--via', 'service'], {
      env: env(),
      sleep: () => sleep(20),
      ...options,
    });

  it('has the server copy by signed URLs alone, and nothing twice', async () => {
    const objects = made();
    const oids = other.store(...objects);
    commit(...objects);
    other.login = 'ada:secret';
    git('config', 'credential.helper', '!f() { echo username=ada; echo password=secret; }; f');
    const sent: string[] = [];
    const { fetch } = globalThis;
    vi.stubGlobal('fetch', (url: string, init?: RequestInit) => {
      if (url.startsWith(stack.url)) sent.push(JSON.stringify([url, init?.headers, init?.body]));
      return fetch(url, init);
    });
    const moved = await viaService().finally(() => vi.unstubAllGlobals());
    expect(moved).toEqual({ code: 0, err: expect.any(String), out: 'copied         6 objects, 10.59 MiB\n' });
    expect(await stored()).toEqual([...oids].sort());
    for (const bytes of objects) expect((await storedBytes(bytes)).equals(bytes)).toBe(true);
    expect(other.downloads).toHaveLength(6);
    for (const { headers } of other.downloads) {
      expect(headers).toMatchObject({ 'user-agent': 'lfs-quota' });
      expect(headers).not.toHaveProperty('authorization');
    }
    expect(sent.join()).toContain('/objects/copies');
    expect(sent.join()).not.toContain(Buffer.from(other.login).toString('base64'));
    expect(await viaService()).toMatchObject({ out: expect.stringContaining('already there  6 objects') });
    expect(other.downloads).toHaveLength(6);
  });

  it('stores nothing else that a server sends, and says so after three tries', async () => {
    const objects = made();
    const oids = other.store(...objects);
    commit(...objects);
    other.lies.set(oids[2] ?? '', Buffer.alloc(4_000));
    const { code, err } = await viaService();
    expect(code).toBe(1);
    expect(err).toContain(`${oids[2]}: the source sent other bytes than the pointer says`);
    expect(err).not.toContain('signature');
    expect(other.downloads.filter(({ oid }) => oid === oids[2])).toHaveLength(3);
    expect(await stored()).toEqual(oids.filter((oid) => oid !== oids[2]).sort());
    other.lies.clear();
    expect(await viaService()).toMatchObject({ code: 0 });
    expect(await stored()).toHaveLength(6);
  });

  it.each<[string, RegExp, (oids: readonly string[]) => void]>([
    [
      'need headers',
      /6 of 6 objects can't go by the service: their URLs need headers/,
      () => {
        other.downloadHeader = { authorization: 'Basic secret' };
      },
    ],
    [
      'redirect',
      /1 of 6 objects can't go by the service: their server redirects/,
      (oids) => void other.redirected.add(oids[3] ?? ''),
    ],
  ])('leaves to this machine what URLs that %s lead to', async (_what, says, prepare) => {
    const objects = made();
    const oids = other.store(...objects);
    commit(...objects);
    prepare(oids);
    const { code, err, out } = await viaService();
    expect({ code, out }).toEqual({ code: 0, out: 'copied         6 objects, 10.59 MiB\n' });
    expect(err).toMatch(says);
    expect(err).not.toContain('secret');
    expect(await stored()).toEqual([...oids].sort());
  });

  it('stores nothing of another size, whoever copies', async () => {
    const objects = made();
    const oids = other.store(...objects);
    commit(...objects);
    other.lies.set(oids[3] ?? '', Buffer.alloc(1000));
    other.lies.set(oids[5] ?? '', Buffer.alloc(9_000_001));
    const { code, err } = await viaService();
    expect(code).toBe(1);
    expect(err).toContain('their server announces no size, or another one');
    expect(err).toContain('2 objects failed');
    expect(await stored()).toEqual(oids.filter((_, at) => at !== 3 && at !== 5).sort());
  });

  it('at the limit stops, says what is missing, and goes on with a higher one', async () => {
    const objects = made();
    other.store(...objects);
    commit(...objects);
    await manage('PATCH', `/${tenant}`, { limitBytes: 5_000_000 });
    const { code, err } = await viaService();
    expect(code).toBe(5);
    expect(err).toContain('Storage limit reached');
    expect(err).toMatch(/\d objects?, [\d.]+ MiB are missing/);
    await manage('PATCH', `/${tenant}`, { limitBytes: null });
    expect(await viaService()).toMatchObject({ code: 0 });
    expect(await stored()).toHaveLength(6);
  });

  it('copies all else if the other server has lost some', async () => {
    const objects = made();
    const oids = other.store(...objects.slice(1));
    commit(...objects);
    expect(await viaService()).toMatchObject({
      code: 3,
      err: expect.stringContaining("doesn't have 1 object"),
    });
    expect(await stored()).toEqual([...oids].sort());
  });

  it('shows with repo show how much is missing here', async () => {
    const objects = made();
    other.store(...objects.slice(1));
    commit(...objects);
    await viaService();
    const show = (...more: string[]) => cli(['repo', 'show', tenant, 'game', ...more], { env: env() });
    const [lost = ''] = objects.map(oidOf);
    expect((await show('--clone', clone)).out).toContain(
      `The clone needs 6 objects, 10.59 MiB. Missing here: 1 object, 0 B.\n  ${lost}\n`,
    );
    const compared = JSON.parse((await show('--clone', clone, '--json')).out);
    expect(compared).toMatchObject({
      repo: 'game',
      clone: { objects: 6, missing: { objects: 1, bytes: 0, oids: [lost] } },
    });
    expect(await show('--json')).toMatchObject({ out: expect.not.stringContaining('"clone"') });
  });

  it('takes no archive', async () => {
    const args = ['import', tenant, 'game', '--archive', clone, '--via', 'service'];
    expect(await cli(args, { env: env() })).toMatchObject({
      code: 2,
      err: expect.stringContaining('--from'),
    });
  });
});

describe('import --archive', () => {
  it.each(['tar', 'zip'])('takes all objects out of the %s of an export', async (format) => {
    const objects = made();
    const oids = other.store(...objects);
    commit(...objects);
    expect(await runImport()).toMatchObject({ code: 0 });
    const again = ['import', tenant, 'again', '--from', from(), '--clone', clone];
    expect(await cli(again, { env: env() })).toMatchObject({ code: 0 });
    const folder = tempFolder();
    const manager = await manage('POST', `/${tenant}/tokens`, { scope: 'manage' });
    const own = { ...env(), LFS_QUOTA_TOKEN: tokenShape.parse(manager).token };
    const start = ['export', 'start', tenant, '--format', format, '--output', folder];
    const waiting = () => sleep(100);
    expect(await cli(start, { env: own, sleep: waiting })).toMatchObject({ code: 0 });
    const [archive = ''] = readdirSync(folder).map((name) => path.join(folder, name));
    const args = ['import', tenant, 'copy', '--archive', archive];
    expect(await cli(args, { env: env() })).toMatchObject({
      code: 0,
      out: expect.stringContaining('copied         6 objects'),
    });
    const listed = await manage('GET', `/${tenant}/objects?repo=copy`);
    expect(
      listShape
        .parse(listed)
        .objects.map(({ oid }) => oid)
        .sort(),
    ).toEqual([...oids].sort());
    // Another export's archive may have the same name and size.
    const repeated = await cli(start, { env: own, sleep: waiting });
    expect(repeated).toMatchObject({
      code: 0,
      err: expect.stringContaining("already, with this size: it's kept"),
    });
    // What changed on the disk, or was cut off, is not stored.
    truncateSync(archive, statSync(archive).size - 2_000_000);
    const cut = ['import', tenant, 'cut', '--archive', archive];
    expect(await cli(cut, { env: env() })).toMatchObject({ code: 1, err: expect.stringContaining('failed') });
    expect(
      await cli(['import', tenant, 'x', '--archive', path.join(clone, '.git/HEAD')], { env: env() }),
    ).toMatchObject({ code: 1, err: expect.stringContaining("isn't the archive of an export") });
    expect(await cli(['import', tenant, 'x', '--archive', folder], { env: env() })).toMatchObject({
      code: 1,
      err: expect.stringContaining(`Can't read ${folder}`),
    });
  });
});

describe('mirror', () => {
  it('copies all of a repo, and tells the other server of each', async () => {
    const objects = made();
    other.store(...objects);
    commit(...objects);
    expect(await runImport()).toMatchObject({ code: 0 });
    other.objects.clear();
    other.login = 'ada:secret';
    const to = from().replace('//', '//ada:secret@');
    const args = ['mirror', tenant, 'game', '--to', to, '--json'];
    const { code, out } = await cli(args, { env: env() });
    expect({ code, moved: JSON.parse(out) }).toMatchObject({
      code: 0,
      moved: { copied: { objects: 6 }, present: { objects: 0 }, missing: { objects: 0 } },
    });
    expect([...other.objects].map(([oid, bytes]) => oidOf(bytes) === oid)).toEqual(Array(6).fill(true));
    expect(other.verified.sort()).toEqual(objects.map(oidOf).sort());
    expect(other.piecemeal).toBe(0);
    other.login = undefined;
    expect(await runMirror()).toMatchObject({ out: expect.stringContaining('already there  6 objects') });
  });

  it('doesn’t take for copied what the other server says nothing of', async () => {
    const objects = made();
    other.store(...objects);
    commit(...objects);
    expect(await runImport()).toMatchObject({ code: 0 });
    other.objects.clear();
    other.batchOf = (answers) => ({ objects: answers.slice(1) });
    const { code, out, err } = await runMirror();
    expect({ code, out }).toEqual({
      code: 1,
      out: expect.stringContaining(`copied         ${other.objects.size} objects`),
    });
    expect(err).toContain('leaves it out');
    other.batchOf = (answers) => ({ objects: answers });
    expect(await runMirror()).toMatchObject({ code: 0 });
    expect(other.objects.size).toBe(6);
  });
});
