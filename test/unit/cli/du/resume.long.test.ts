import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { folderOf } from '../../../../cli/du/folders.ts';
import { bucketShapes } from '../../../support/bucket-shapes.ts';
import { ListedBuckets } from '../../../support/listed-buckets.ts';
import { LyingStore } from '../../../support/lying-store.ts';
import { Random } from '../../../support/random.ts';
import { hashNames, type ListedObject } from '../../../support/round-listing.ts';
import { credentials } from '../../../support/store-fixture.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { cli as runCommandLine } from '../harness.ts';
import { type BuiltCli, buildCli, type DuEnded } from './du-process.ts';

const timeoutMs = 120_000;
const random = new Random(20_261_122);
const folderFor = useTempFolders();
const server = new ListedBuckets();
let store: LyingStore;
let cli: BuiltCli;
let endpoint = '';
let file = '';

/** Bucket → what it holds. */
const buckets = new Map<string, readonly ListedObject[]>();

function fill(bucket: string, names: readonly string[]): void {
  const objects = names.map((key, index) => ({ key, sizeBytes: 1 + ((index * 7919) % 100_003) }));
  buckets.set(bucket, objects);
  server.add(bucket, objects);
}

beforeAll(async () => {
  process.env['AWS_ACCESS_KEY_ID'] = credentials.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = credentials.secretAccessKey;
  fill('hashes', hashNames(60_000, 3));
  fill('folders', bucketShapes.find(({ title }) => title.startsWith('a tree of 4 levels'))?.names() ?? []);
  fill('small', hashNames(3000, 4));
  fill('few', hashNames(18_000, 5));
  store = await LyingStore.start(server.faults);
  endpoint = store.url;
  cli = await buildCli();
}, timeoutMs);
afterAll(async () => {
  delete process.env['AWS_ACCESS_KEY_ID'];
  delete process.env['AWS_SECRET_ACCESS_KEY'];
  await store.stop();
  await cli.remove();
});
beforeEach(() => {
  file = path.join(folderFor(), 'du scan.json');
});
afterEach(() => server.reset());

const start = (bucket: string, ...args: string[]) =>
  cli.start([`s3://${bucket}`, '--endpoint', endpoint, '--resume', file, ...args]);

/** The same in this process, which starts sooner. */
const runHere = (bucket: string, ...args: string[]) => {
  const place = args.includes('--endpoint') ? [] : ['--endpoint', endpoint];
  return runCommandLine(['du', `s3://${bucket}`, ...place, '--resume', file, ...args]);
};

function truthOf(bucket: string) {
  const objects = buckets.get(bucket) ?? [];
  return {
    objects: objects.length,
    bytes: objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  };
}

/** The sums of folders, as a plain loop finds them. */
function foldersOf(bucket: string, depth: number) {
  const sums = new Map<string, { objects: number; bytes: number }>();
  for (const { key, sizeBytes } of buckets.get(bucket) ?? []) {
    const { folder } = folderOf(key, depth);
    const { objects = 0, bytes = 0 } = sums.get(folder) ?? {};
    sums.set(folder, { objects: objects + 1, bytes: bytes + sizeBytes });
  }
  return [...sums]
    .map(([folder, sum]) => ({ folder, ...sum }))
    .sort((a, b) => b.bytes - a.bytes || (a.folder < b.folder ? -1 : 1));
}

/** Kills one process after another, each at a random moment once it lists; the last one may end. */
async function killedOften(kills: number, args: readonly string[], bucket: string): Promise<DuEnded> {
  let left = kills;
  for (;;) {
    const { child, ended } = start(bucket, ...args);
    if (left > 0) {
      const [after, waitMs] = [server.requests + random.int(2, 8), random.int(0, 25)];
      server.onRequest = (request) => {
        if (request === after) setTimeout(() => child.kill('SIGKILL'), waitMs);
      };
    }
    const end = await ended;
    server.onRequest = () => {};
    if (end.signal !== 'SIGKILL') return end;
    left -= 1;
  }
}

describe('a scan that is killed again and again', { timeout: timeoutMs }, () => {
  it.each([
    ['hashes', []],
    ['folders', ['--by-prefix', '--depth', '2', '--top', '7']],
    ['hashes', ['--by', 'size,age,suffix']],
  ])('counts every key of %s once', async (bucket, more) => {
    const [kills, concurrency] = [12, 6];
    server.latencyMs = 8;
    const args = ['--json', '--save-every', '0.01', '--concurrency', String(concurrency), ...more];
    const { code, out, err } = await killedOften(kills, args, bucket);
    expect({ code, err }).toMatchObject({ code: 0 });
    const result = JSON.parse(out);
    expect(result).toMatchObject(truthOf(bucket));
    // Of a slow machine's processes some die before they have saved anything.
    expect(result.runs).toBeGreaterThan(1);
    // Each kill costs at most what was on its way, and what had arrived since the file was written.
    const pages = truthOf(bucket).objects / 1000;
    expect(server.served).toBeLessThan(1.3 * pages + kills * 4 * concurrency);
    expect(await readdir(path.dirname(file))).toEqual(['du scan.json']);
    if (more.length === 0) return;
    if (result.by !== undefined) {
      const { bytes, objects } = truthOf(bucket);
      const { out: plain } = await runCommandLine([
        'du',
        `s3://${bucket}`,
        '--endpoint',
        endpoint,
        '--json',
        ...more,
      ]);
      expect(result.by).toEqual(JSON.parse(plain).by);
      expect(result.by.age.at(-1)).toEqual({ group: 'over a year', bytes, objects });
      expect(result.by.suffix).toEqual([{ group: '(none)', bytes, objects }]);
      expect(result.by.size[0]).toEqual({ group: 'under 128 KiB', bytes, objects });
      return;
    }
    const truth = foldersOf(bucket, 2);
    expect(result.folders.count).toBe(truth.length);
    expect(result.folders.largest).toEqual(
      truth.slice(0, 7).map((folder) => expect.objectContaining(folder)),
    );
  });
});

describe('a scan that is stopped by Ctrl-C', { timeout: timeoutMs }, () => {
  it.each(['hashes', 'folders'])(
    'waits for its pages, says how to go on, and costs hardly more (%s)',
    async (bucket) => {
      const plain = await cli.start([
        `s3://${bucket}`,
        '--endpoint',
        endpoint,
        '--concurrency',
        '8',
        '--json',
      ]).ended;
      const { requests } = JSON.parse(plain.out);
      server.latencyMs = 5;
      let result: DuEnded | undefined;
      for (const stopAt of [15, 30, Number.POSITIVE_INFINITY]) {
        const { child, ended } = start(bucket, '--json', '--concurrency', '8');
        server.onRequest = () => {
          if (server.served < requests + stopAt) return;
          server.onRequest = () => {};
          child.kill('SIGINT');
        };
        result = await ended;
        server.onRequest = () => {};
        if (stopAt === Number.POSITIVE_INFINITY) break;
        expect(result).toMatchObject({ code: 130, signal: null, out: '' });
        expect(result.err).toMatch(
          /error: Stopped after [\d,]+ objects\.\nResume: .* du s3:\/\/\w+ --endpoint/,
        );
        expect(result.err).toContain(`--resume '${file}' --json --concurrency 8\n`);
        expect(existsSync(`${file}.lock`)).toBe(false);
      }
      expect(result).toMatchObject({ code: 0 });
      expect(JSON.parse(result?.out ?? '')).toMatchObject({ ...truthOf(bucket), runs: 3 });
      // Two stops, each of which may cost a few requests.
      expect(server.served - requests).toBeLessThanOrEqual(requests + 2 * 8);
      expect(JSON.parse(result?.out ?? '').requests).toBe(server.served - requests);
    },
  );

  it('ends at once when it is interrupted again, and can go on', async () => {
    server.faultOf = () => 'never';
    const { child, ended } = start('small');
    server.onRequest = () => void child.kill('SIGINT');
    child.stderr?.once('data', () => child.kill('SIGINT'));
    expect(await ended).toMatchObject({ signal: 'SIGINT', out: '' });
    server.reset();
    const { out } = await start('small', '--json').ended;
    expect(JSON.parse(out)).toMatchObject(truthOf('small'));
  });

  it('sends no request more because it saves', async () => {
    const args = ['s3://hashes', '--endpoint', endpoint, '--json', '--concurrency', '8'];
    const plain = JSON.parse((await cli.start(args).ended).out);
    server.latencyMs = 3;
    const saving = JSON.parse(
      (await start('hashes', '--json', '--concurrency', '8', '--save-every', '0.02').ended).out,
    );
    expect(saving.objects).toBe(plain.objects);
    expect(saving.requests).toBeLessThanOrEqual(plain.requests * 1.03);
  });
});

describe('the file', { timeout: timeoutMs }, () => {
  const fails = async (bucket: string, ...args: string[]) => {
    const { code, out, err } = await runHere(bucket, ...args);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(server.requests).toBe(0);
    return err;
  };

  it('of a finished scan gives its result again, without a request', async () => {
    const first = await runHere('small', '--json');
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(first.out)).toMatchObject(truthOf('small'));
    server.reset();
    const second = await runHere('small', '--json');
    expect(second).toMatchObject({ code: 0, out: first.out });
    expect(second.err).toMatch(
      /is finished: this was scanned on 2\d{3}-.*Delete the file to scan again\.\n$/,
    );
    expect(server.requests).toBe(0);
  });

  it.each([
    ['another bucket', 'hashes', [], /one of s3:\/\/small\/, not of s3:\/\/hashes\//],
    [
      'another kind',
      'small',
      ['--by-prefix'],
      /one without --by-prefix, not with --by-prefix --depth 1 --top 20/,
    ],
    [
      'another order',
      'small',
      ['--strategy', 'sequential'],
      /without --strategy .*, not with --strategy sequential/,
    ],
    [
      'another store',
      'small',
      ['--endpoint', 'http://127.0.0.1:1'],
      /one at http:.*, not at http:\/\/127\.0\.0\.1:1/,
    ],
  ])('of %s is refused', async (_, bucket, args, message) => {
    await runHere('small');
    server.reset();
    const before = await readFile(file, 'utf8');
    expect(await fails(bucket, ...args)).toMatch(message);
    expect(await readFile(file, 'utf8')).toBe(before);
  });

  it('that is cut or changed anywhere is refused', async () => {
    await runHere('small');
    server.reset();
    const whole = await readFile(file, 'utf8');
    const digit = whole.lastIndexOf('3000');
    for (const text of [
      whole.slice(0, 20 + whole.length / 2),
      whole.slice(0, -1),
      `${whole.slice(0, digit)}4${whole.slice(digit + 1)}`,
    ]) {
      await writeFile(file, text);
      expect(await fails('small')).toMatch(/is damaged\.\nRestore it, or delete it/);
    }
  });

  it.each(['', 'hello', '{}', '{"format":"other"}'])(
    'with the text "%s" is refused, and left as it is',
    async (text) => {
      await writeFile(file, text);
      expect(await fails('small')).toMatch(/isn't a file of du --resume\.\nIt wasn't changed\./);
      expect(await readFile(file, 'utf8')).toBe(text);
    },
  );

  it('that a kill left half written is removed, and others are not', async () => {
    for (const name of [`${file}.1-2.unfinished`, `${file}.mine`, `${file}2.1-2.unfinished`])
      await writeFile(name, '{');
    expect(await runHere('small')).toMatchObject({ code: 0 });
    const left = ['du scan.json', 'du scan.json.mine', 'du scan.json2.1-2.unfinished'];
    expect((await readdir(path.dirname(file))).sort()).toEqual(left);
  });

  it('of the first version, as it is written down here, is continued', async () => {
    const all = buckets.get('small') ?? [];
    const counted = all.filter(({ key }) => key <= '8');
    const bytes = counted.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    const scan = `"bucket":"small","prefix":"","endpoint":"${endpoint}","order":"parallel"`;
    const sums = `"objects":${counted.length},"requests":9,"failed":1,"throttled":1,"runs":2,"beganMs":1795000000000`;
    const rest = '"rest":{"ranges":[{"after":"8","last":null}],"objectsExpected":3000}';
    const folders = `"folders":{"completeCount":0,"largest":[],"open":[["",${counted.length},"${bytes}"]]}`;
    const body =
      `{"scan":{${scan},"folders":{"depth":1,"top":20}},${sums},"activeMs":1500.5,` +
      `"savedMs":1795000060000,"bytes":"${bytes}",${rest},${folders}}`;
    const sha256 = createHash('sha256').update(body).digest('hex');
    await writeFile(
      file,
      `{"format":"lfs-quota du","version":1,"sha256":"${sha256}","checkpoint":${body}}\n`,
    );
    const { code, out } = await runHere('small', '--json', '--by-prefix');
    expect(code).toBe(0);
    const result = JSON.parse(out);
    expect(result).toMatchObject({ ...truthOf('small'), runs: 3, failed: 1, throttled: 1 });
    expect(result.began).toBe(new Date(1_795_000_000_000).toISOString());
    expect(result.requests).toBe(9 + server.requests);
    expect(result.folders).toMatchObject({ count: 1, largest: [truthOf('small')] });
  });

  it('without groups is of the first version, which older versions read, and belongs to no scan with them', async () => {
    expect(await runHere('small')).toMatchObject({ code: 0 });
    expect(await readFile(file, 'utf8')).toMatch(/^\{"format":"lfs-quota du","version":1,/);
    expect((await runHere('small', '--by', 'age,size')).err).toContain(
      'belongs to another scan: one without --by, not with --by age,size.',
    );
    await rm(file);
    expect(await runHere('small', '--by', 'size')).toMatchObject({ code: 0 });
    expect(await readFile(file, 'utf8')).toMatch(/^\{"format":"lfs-quota du","version":2,/);
    expect((await runHere('small', '--by', 'size')).out).toContain('under 128 KiB');
    expect((await runHere('small')).err).toContain('one with --by size, not without --by.');
  });

  it('of a newer version is refused', async () => {
    await writeFile(file, '{"format":"lfs-quota du","version":5,"other":1}\n');
    expect(await fails('small')).toContain('newer version of lfs-quota (format 5)');
  });

  it('in a folder that does not exist, or that is a folder, is refused', async () => {
    const folder = path.dirname(file);
    file = path.join(folder, 'none', 'file');
    expect(await fails('small')).toContain("Its folder doesn't exist.");
    file = folder;
    expect(await fails('small')).toContain("isn't a file.");
  });
});

describe('a file that can no longer be written', { timeout: timeoutMs }, () => {
  it('ends no scan: it warns, prints the result, and fails', async () => {
    server.latencyMs = 20;
    const { ended } = start('few', '--json', '--save-every', '0.02', '--concurrency', '2');
    const folder = path.dirname(file);
    // In one step: a folder that is removed file by file may get another file meanwhile.
    server.onRequest = (request) => void (request === 5 && rename(folder, `${folder}-gone`));
    const { code, out, err } = await ended;
    await rm(`${folder}-gone`, { recursive: true });
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject(truthOf('few'));
    expect(err).toMatch(
      /warning: .*du scan\.json can't be used to save the scan \(ENOENT\)\. The scan continues/,
    );
    expect(err).toMatch(
      /error: .*can't be used to save the scan \(ENOENT\)\.\nIts folder doesn't exist\.\n$/,
    );
  });
});

describe('two processes with one file', { timeout: timeoutMs }, () => {
  /** Starts a scan that lists, and gets no answer. */
  async function startEndless() {
    const arrived = new Promise<void>((resolve) => {
      server.faultOf = () => 'never';
      server.onRequest = () => resolve();
    });
    const running = start('small');
    await arrived;
    return running;
  }

  it('are one too many, until the first has ended, however it ended', async () => {
    const first = await startEndless();
    const second = await start('small').ended;
    expect(second).toMatchObject({ code: 1, out: '' });
    expect(second.err).toMatch(new RegExp(`is in use by process ${first.child.pid}, .*\nWait for it`));
    first.child.kill('SIGKILL');
    await first.ended;
    expect(existsSync(`${file}.lock`)).toBe(true);
    server.reset();
    expect(await start('small', '--json').ended).toMatchObject({ code: 0 });
    expect(await readdir(path.dirname(file))).toEqual(['du scan.json']);
  });

  it('are noticed when both write, as on two machines that do not see each other', async () => {
    const first = await startEndless();
    await rm(`${file}.lock`);
    server.reset();
    expect(await start('small', '--json').ended).toMatchObject({ code: 0 });
    const written = await readFile(file, 'utf8');
    first.child.kill('SIGINT');
    const { code, err } = await first.ended;
    expect(code).toBe(1);
    expect(err).toContain('Another process wrote');
    expect(await readFile(file, 'utf8')).toBe(written);
  });

  it('on another machine count as one too many for a minute after its last sign', async () => {
    await writeFile(`${file}.lock`, JSON.stringify({ pid: 1, host: 'another.example' }));
    expect((await start('small').ended).err).toContain('is in use by process 1 on another.example');
    await utimes(`${file}.lock`, new Date(0), new Date(0));
    expect(await start('small').ended).toMatchObject({ code: 0 });
  });
});

describe('a store that fails', { timeout: timeoutMs }, () => {
  it('ends a scan that can go on later', async () => {
    server.faultOf = (request) => (request > 1 ? 'slow-down' : undefined);
    server.add('gone', buckets.get('small') ?? []);
    const { child, ended } = start('gone', '--save-every', '0.05');
    server.onRequest = (request) => void (request === 6 && child.kill('SIGINT'));
    const stopped = await ended;
    expect(stopped).toMatchObject({ code: 130 });
    server.reset();
    const { out } = await start('gone', '--json').ended;
    expect(JSON.parse(out)).toMatchObject({ ...truthOf('small'), runs: 2 });
    expect(JSON.parse(out).throttled).toBeGreaterThan(0);
  });

  it('with a refusal says so, and leaves no file if nothing was counted', async () => {
    const { code, err } = await start('nobody').ended;
    expect(code).toBe(3);
    expect(err).toMatch(/Bucket nobody not found .*\n.*\n$/);
    expect(existsSync(file)).toBe(false);
  });

  it.each([
    [0.3, 'folders'],
    [0.5, 'few'],
  ])('with a storm of %d × 503 loses nothing of %s, and says so', async (share, bucket) => {
    const storm = new Random(7);
    server.latencyMs = 5;
    server.faultOf = (request) => (request > 1 && storm.chance(share) ? 'slow-down' : undefined);
    const { code, out } = await runHere(bucket, '--concurrency', '16');
    expect(code).toBe(0);
    const { bytes, objects } = truthOf(bucket);
    expect(out.replaceAll(',', '')).toContain(`(${bytes} bytes) in ${objects} objects`);
    expect(out).toMatch(/The store asked \d+ times to slow down\./);
  });
});
