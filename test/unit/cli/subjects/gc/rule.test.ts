import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { exampleAnswer } from '../../api-examples.ts';
import { cli, startServer, type TestServer } from '../../harness.ts';

const oidOf = (content: string) => createHash('sha256').update(content).digest('hex');
const pointer = (content: string) =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${oidOf(content)}\nsize 9\n`;
const day = 86_400;
const now = Date.parse('2026-11-21T05:00:00Z') / 1000;

/** Path → content, for each day before now on which there was a commit. */
const history: readonly (readonly [daysAgo: number, files: Readonly<Record<string, string>>])[] = [
  [100, { 'Art/hero.psd': 'hero 1', 'Builds/a.zip': 'build 1', 'Builds/b.zip': 'build 2' }],
  [90, { 'Art/hero.psd': 'hero 2', 'Builds/a.zip': 'build 1' }],
  [80, { 'Art/hero.psd': 'hero 3' }],
  [70, { 'Art/hero.psd': 'hero 4', 'Art/hud.psd': 'hud' }],
];

/** What `git fast-import` reads. */
const imported = (more: typeof history = []) =>
  [...history, ...more]
    .flatMap(([daysAgo, files]) => [
      'commit refs/heads/main',
      `committer A <a@example.com> ${now - daysAgo * day} +0000`,
      'data 1\nm',
      'deleteall',
      ...Object.entries(files).map(
        ([path, content]) => `M 100644 inline ${path}\ndata ${pointer(content).length}\n${pointer(content)}`,
      ),
    ])
    .join('\n');

describe('gc by a rule', () => {
  const home = mkdtempSync(join(tmpdir(), 'lfs-quota-rule-'));
  const clone = join(home, 'clone.git');
  const git = (args: string[], input = '') => execFileSync('git', args, { cwd: home, input, stdio: 'pipe' });
  const make = (folder: string, more?: typeof history) => {
    git(['init', '-q', '--bare', '--template=', folder]);
    git(['-C', folder, 'remote', 'add', 'origin', folder]);
    if (more) git(['-C', folder, 'fast-import', '--quiet'], `${imported(more)}\n`);
  };
  let server: TestServer;
  /** Where the reachable set is sent to. */
  let store: Server;
  let set = Buffer.alloc(0);
  beforeAll(async () => {
    make(clone, []);
    store = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      set = Buffer.concat(chunks);
      response.end();
    });
    await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    store.closeAllConnections();
    store.close();
    rmSync(home, { recursive: true });
  });
  afterEach(() => server.close());

  const sum = (count: number) => ({ objectCount: count, bytes: 9 * count });

  /**
   * A service that keeps what is in the set that was sent, and lets the rest go.
   *
   * @param stored contents. @param busy openings that it refuses after a delete. @param change what a run ends with otherwise.
   */
  async function collector(stored: readonly string[], { busy = 0, change = {} } = {}) {
    const asked: string[] = [];
    const rules: unknown[] = [];
    let [isFound, isDone, left] = [false, false, busy];
    const isKept = (content: string) => set.toString('hex').includes(oidOf(content).slice(0, 16));
    server = await startServer((request) => {
      const gone = stored.filter((content) => !isKept(content));
      if (request.path === '/list') {
        const lines = gone.map((content) => `${oidOf(content)} 9\n`);
        return { status: 200, body: lines.join('') };
      }
      asked.push(`${request.method} ${request.path.split('/').at(-1)?.replace(/\?.*/, '')}`);
      if (asked.at(-1) === 'GET objects') {
        const objects = stored.map((content) => ({ repo: 'game', oid: oidOf(content), sizeBytes: 9 }));
        return {
          status: 200,
          body: {
            objects: objects.map((each) => ({ ...each, storedAt: null })),
            others: [],
            nextCursor: null,
          },
        };
      }
      if (asked.at(-1) === 'POST run') {
        isFound = true;
        rules.push((request.body as { rule?: object }).rule);
        isDone = (request.body as { dryRun: boolean }).dryRun === false;
      } else if (asked.at(-1) === 'POST gc') {
        if (isDone && left-- > 0)
          return { status: 409, body: { code: 'gc-ending', title: 'It is ending', status: 409 } };
        [isFound, isDone] = [false, false];
      }
      return exampleAnswer(request, (body) => ({
        ...(body as object),
        state: isDone ? 'done' : 'watching',
        mayRun: true,
        url: `http://127.0.0.1:${(store.address() as AddressInfo).port}/set`,
        headers: {},
        run: {
          requestedAt: '2026-11-21T05:00:00Z',
          dryRun: !isDone,
          force: false,
          minAgeDays: 7,
          reachableSetObjects: 1,
        },
        found: isFound
          ? {
              stored: sum(stored.length),
              kept: sum(stored.length - gone.length),
              young: sum(0),
              inUse: sum(0),
              candidates: sum(gone.length),
              isMoreThanHalf: false,
              largest: [],
              lists: isDone ? [] : [{ url: `${server.url}/list` }],
            }
          : null,
        ...(isFound && change),
      }));
    });
    const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'x' };
    const gc = (...args: string[]) => cli(['gc', 'acme', 'game', '--clone', clone, ...args], { env });
    return { gc, asked, rules, isKept };
  }

  const all = ['hero 1', 'hero 2', 'hero 3', 'hero 4', 'hud', 'build 1', 'build 2', 'of no commit'];
  const scanned = ['POST gc', 'POST reachable-set', 'POST run', 'GET gc'];

  it('shows by path what would go, and deletes nothing', async () => {
    const { gc, asked } = await collector(all);
    const { code, out, err } = await gc('--keep-versions', '2');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('The rule keeps 4 of 7 objects');
    const rows = out.split('\n').flatMap((line) => {
      const cells = line.trim().split(/ {2,}/);
      return cells[0]?.endsWith(' B') ? [cells] : [];
    });
    expect(rows).toEqual([
      ['9 B', '1', '3', '2026-08-13', 'Art/hero.psd'],
      ['9 B', '1', '0', '2026-08-13', 'Builds/a.zip', '(no branch has it)'],
      ['9 B', '1', '0', '2026-08-13', 'Builds/b.zip', '(no branch has it)'],
      ['9 B', '1', '–', '–', '(in no commit)'],
    ]);
    expect(out).toContain('Nothing was deleted. To delete, add: --delete\n');
    expect(asked).toEqual(scanned);
  });

  it.each<[string[], string[]]>([
    [
      ['--keep-versions', '0'],
      ['hero 4', 'hud'],
    ],
    [
      ['--keep-days', '85'],
      ['hero 1', 'hero 2', 'hero 3', 'hero 4', 'hud', 'build 1'],
    ],
    [
      ['--keep-days', '75', '--keep-versions', '0'],
      ['hero 3', 'hero 4', 'hud'],
    ],
    [
      ['--only', 'Builds/**'],
      ['hero 1', 'hero 2', 'hero 3', 'hero 4', 'hud'],
    ],
    [
      ['--only', 'Builds/a*', '--only', 'Art/hud*'],
      ['hero 1', 'hero 2', 'hero 3', 'hero 4', 'hud', 'build 2'],
    ],
    [[], all.slice(0, -1)],
  ])('keeps by %j', async (args, expected) => {
    const { gc, isKept } = await collector(all);
    expect(await gc(...args, '--json')).toMatchObject({ code: 0, err: '' });
    expect(all.filter(isKept)).toEqual(expected);
  });

  it('shows it before it deletes, and opens the next one once this one has ended', async () => {
    const { gc, asked, rules } = await collector(all, { busy: 2 });
    const { code, out } = await gc('--keep-versions', '2', '--delete');
    expect(code).toBe(0);
    const rule = { days: 30, versions: 2 };
    expect(rules).toEqual([rule, rule]);
    expect(out).toMatch(/Builds\/.*acme\/game: done.*acme\/game: watching/s);
    expect(asked).toEqual([...scanned, ...scanned.slice(2), 'POST gc', 'POST gc', 'POST gc']);
  });

  it('exits with 5 if that is more than half, and leaves the watch open', async () => {
    const failure = { reason: 'too-much', message: 'More than half.' };
    const { gc } = await collector(all, { change: { state: 'watching', failure } });
    expect(await gc('--delete')).toMatchObject({
      code: 5,
      out: expect.stringContaining('Nothing was deleted: More than half.'),
    });
  });

  it('names what a tip needs, and is not stored, in each run', async () => {
    const lost = all.filter((content) => content !== 'hud');
    const text =
      'At a tip, but not stored: Art/hud.psd (main). In a clone that has it: git lfs push --all origin main\n';
    for (const args of [[], ['--keep-days', '1']]) {
      const { gc, asked } = await collector(lost);
      expect((await gc(...args)).out).toContain(text);
      expect(asked).toEqual([...scanned, 'GET objects']);
      expect((await gc(...args, '--json')).err).toBe(text);
    }
  });

  it('says which commit comes from the future', async () => {
    const late = join(home, 'late.git');
    make(late, [[-400, { 'Art/hero.psd': 'hero 5' }]]);
    const { gc } = await collector(all);
    const { err } = await gc('--clone', late, '--keep-days', '1').catch((error) => error);
    expect(err).toContain('You passed --clone twice');
    const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'x' };
    const ended = await cli(['gc', 'acme', 'game', '--clone', late, '--keep-days', '1'], { env });
    expect(ended.err).toMatch(/^Commit \w{10} is dated 2027-12-26: the rule keeps every version since\.\n$/);
  });

  it('refuses a remote without branches, of which nothing would stay', async () => {
    const empty = join(home, 'empty.git');
    make(empty);
    git(['-C', clone, 'remote', 'add', 'empty', empty]);
    const { gc } = await collector(all);
    expect(await gc('--remote', 'empty', '--keep-days', '1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('The remote has no branches and no tags'),
    });
  });
});
