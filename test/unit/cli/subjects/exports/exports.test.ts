import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { exportSchema } from '../../../../../lambda/subjects/exports/contract.ts';
import { copying, done, exportBody, plan } from '../../../../support/subjects/exports/export-bodies.ts';
import { type Answer, type Asked, cli, startServer, type TestServer } from '../../harness.ts';

const { exportId } = exportBody();
const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-exports-'));
afterAll(() => rmSync(folder, { recursive: true }));

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(answer: (asked: Asked) => Answer, options: Omit<Parameters<typeof cli>[1], 'env'> = {}) {
  server = await startServer(answer);
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
  const { asked } = server;
  return {
    asked: () => asked.map(({ method, path }) => `${method} ${path}`),
    bodies: () => asked.map(({ body }) => body),
    run: (...args: string[]) => cli(['export', ...args], { env, ...options }),
  };
}

/** The export is begun, and then as each of these in turn. The last one stays. */
function stages(...later: object[]) {
  let looks = 0;
  return ({ method }: Asked): Answer => {
    if (method === 'POST') return { status: 202, body: exportBody() };
    looks += 1;
    return { status: 200, body: later[Math.min(looks, later.length) - 1] };
  };
}

it('the bodies of these tests are what the API answers', () => {
  for (const body of [exportBody(), copying(0.05), done('https://store.example/x')])
    expect(exportSchema.parse(body)).toEqual(body);
});

describe('export start', () => {
  it('sends what was asked for, and no more', async () => {
    const { asked, bodies, run } = await serve(stages());
    expect(await run('start', 'acme', '--no-wait')).toEqual({
      code: 0,
      out: `The export ${exportId} started. See its progress: lfs-quota export show acme ${exportId}\n`,
      err: '',
    });
    const all = ['--repo', 'game.git', '--format', 'zip', '--dry-run', '--no-wait'];
    expect(await run('start', 'acme', ...all)).toMatchObject({ code: 0 });
    expect(asked()).toEqual(['POST /v1/tenants/acme/exports', 'POST /v1/tenants/acme/exports']);
    expect(bodies()).toEqual([{}, { repo: 'game', format: 'zip', dryRun: true }]);
  });

  it('waits, shows how far it is, and says what to do with the archive', async () => {
    const answer = stages(
      exportBody(),
      copying(0.05),
      copying(0.12),
      done('https://store.example/x?a=1&b=2'),
    );
    const { asked, run } = await serve(answer);
    const { code, out, err } = await run('start', 'acme', '--repo', 'game');
    // Without a terminal, a line for each tenth.
    expect({ code, err }).toEqual({ code: 0, err: 'planning\ncopying: 0 %\ncopying: 10 %\n' });
    expect(out).toContain('acme-game.tar  20 GiB');
    expect(out).toContain("Kept until 2026-11-28T05:00:00Z, for 7.0 days. It doesn't count as usage.");
    expect(out).toContain(`  lfs-quota export show acme ${exportId} --output acme-game.tar\n`);
    expect(out).toContain("  curl -f -C - -o acme-game.tar 'https://store.example/x?a=1&b=2'\n");
    expect(out).toContain('  GIT_LFS_SKIP_SMUDGE=1 git clone REPOSITORY work && cd work\n');
    expect(out).toContain('  tar -x -C .git -f ../acme-game.tar\n  git lfs checkout\n');
    expect(asked()).toHaveLength(5);
  });

  it('on a terminal shows share, bytes, rate and time left on one line', async () => {
    let nowMs = Date.parse('2026-11-21T05:00:00Z');
    const sleep = async () => {
      nowMs += 2000;
    };
    const answer = stages(copying(0.1), copying(0.2), done('https://store.example/x'));
    const { run } = await serve(answer, { isTerminal: true, sleep, now: () => nowMs });
    const { err } = await run('start', 'acme');
    expect(err).toContain('\r\u001b[Kcopying: 10.0 %, 1.2 GiB copied, 819.2 MiB uploaded of 20 GiB\r');
    // 2 GiB in two seconds, and 16 are left.
    expect(err).toContain(
      '\r\u001b[Kcopying: 20.0 %, 2.4 GiB copied, 1.6 GiB uploaded of 20 GiB, 1 GiB/s, 16 s left\r',
    );
  });

  it('extracts a zip with unzip, and what has names of its own where it is', async () => {
    const zip = { format: 'zip' as const, archives: done('https://s.example/').archives };
    for (const archive of zip.archives) archive.name = "it's.zip";
    const { run } = await serve(stages(done('', zip)));
    expect((await run('start', 'acme')).out).toContain("  unzip -d .git '../it'\\''s.zip'\n");
    await server?.close();
    const listed = await serve(stages(done('https://s.example/', { listedObjects: 2, named: true })));
    const { out } = await listed.run('start', 'acme');
    expect(out).toMatch(/Never extract it into \.git: .*\n {2}tar -x -f acme-game\.tar\n/);
    expect(out).toMatch(/as tar, 2 objects of a list, with names of its own\n.*\nstarted .*, by ada\n/);
    expect(out).not.toContain('git clone');
  });

  it('--json prints the last answer alone, as it came', async () => {
    const { run } = await serve(stages(copying(0.5), done('https://store.example/x')));
    const { code, out } = await run('start', 'acme', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual(done('https://store.example/x'));
  });

  it('--dry-run says what it takes', async () => {
    const state = { state: 'explained' as const, dryRun: true, plan: { ...plan, missing: 2 } };
    const { run } = await serve(stages(exportBody(state)));
    const { out } = await run('start', 'acme', '--dry-run');
    expect(out).toContain('plan      copy in parts of any size: 6,400 requests, $0.01, about 14 s\n');
    expect(out).toContain('size      20 GiB: 12 GiB copied by the store, 8 GiB uploaded\n');
    expect(out).toContain('missing   2 objects: listed in the archive\n');
    expect(out).not.toContain('git clone');
  });

  it('fails if the export fails, with its reason and what to do', async () => {
    const failure = { reason: 'timeout', message: 'It was not done within a day.' };
    const { run } = await serve(stages({ ...exportBody(), state: 'failed', failure }));
    const { code, err } = await run('start', 'acme');
    expect(code).toBe(1);
    expect(err).toContain('The export failed. It was not done within a day.');
    expect(err).toContain('lfs-quota export start acme');
  });

  it('stops waiting at Ctrl-C, and says that the export goes on, and how to see it', async () => {
    let interrupt = () => {};
    const released: boolean[] = [];
    const { run, asked } = await serve(stages(copying(0.5)), {
      // It never ends by itself.
      sleep: () => {
        interrupt();
        return new Promise(() => {});
      },
      onInterrupt: (listener: () => void) => {
        interrupt = listener;
        return () => void released.push(true);
      },
    });
    const { code, err } = await run('start', 'acme');
    expect(code).toBe(130);
    expect(err).toContain('The export continues');
    expect(err).toContain(`See its progress: lfs-quota export show acme ${exportId}`);
    expect(asked()).toEqual(['POST /v1/tenants/acme/exports', `GET /v1/tenants/acme/exports/${exportId}`]);
    expect(released).toEqual([true]);
  });

  it('waits on though some looks fail, until five in a row do', async () => {
    const [half, down] = [copying(0.5), { status: 503, body: { title: 'The storage does not answer' } }];
    let looks = 0;
    const answers: Answer[] = [down, down, down, down, { status: 200, body: half }, down];
    const { run, asked } = await serve(({ method }) => {
      if (method === 'POST') return { status: 202, body: exportBody() };
      looks += 1;
      return answers[Math.min(looks, answers.length) - 1] ?? down;
    });
    const { code, out, err } = await run('start', 'acme');
    expect([code, out]).toEqual([6, '']);
    expect(err).toContain('copying: 50 %\n');
    expect(err).toContain('The storage does not answer (503). The export might continue on the server.');
    expect(err).toContain(`See its progress: lfs-quota export show acme ${exportId}`);
    expect(asked()).toHaveLength(1 + 5 + 5);
  });

  it.each([
    { args: ['--output', join(folder, 'x.tar'), '--no-wait'], message: /leave out --no-wait/ },
    { args: ['--output', join(folder, 'x.tar'), '--dry-run'], message: /leave out --no-wait and --dry-run/ },
    { args: ['--output', '/nowhere/x.tar'], message: /Folder \/nowhere not found/ },
    { args: ['--output', import.meta.filename], message: /already exists/ },
    { args: ['--objects', '/nowhere'], message: /Can't read the file/ },
  ])('asks for nothing with $args', async ({ args, message }) => {
    const { asked, run } = await serve(stages());
    const { code, err } = await run('start', 'acme', ...args);
    expect(code).toBe(2);
    expect(err).toMatch(message);
    expect(asked()).toEqual([]);
  });
});

describe('export start --objects', () => {
  const oid = (digit: string) => digit.repeat(64);
  const listed = async (text: string) => {
    const file = join(folder, 'objects');
    writeFileSync(file, text);
    const { bodies, run } = await serve(stages());
    const { code, err } = await run('start', 'acme', '--no-wait', '--objects', file);
    return { code, err, body: bodies()[0] };
  };

  it('reads what git-lfs prints, and plain oids', async () => {
    const text = `${oid('a')} * art/ä b.psd\n${oid('b')} - c.bin\r\n\n${oid('c')}\n${oid('d')} d.bin`;
    expect(await listed(text)).toMatchObject({
      code: 0,
      body: {
        objects: [
          { oid: oid('a'), name: 'art/ä b.psd' },
          { oid: oid('b'), name: 'c.bin' },
          { oid: oid('c') },
          { oid: oid('d'), name: 'd.bin' },
        ],
      },
    });
  });

  it('sends each object once, under its first name, and says so', async () => {
    const { body, err } = await listed(`${oid('a')} * a\n${oid('a')} * b\n`);
    expect(body).toEqual({ objects: [{ oid: oid('a'), name: 'a' }] });
    expect(err).toContain('1 lines repeat an object');
  });

  it.each([
    [`${oid('a')}\nabc * x\n`, /Line 2 of .* doesn't start with an oid/],
    ['\n\n', /has no objects/],
  ])('refuses %j', async (text, message) => {
    const { code, err, body } = await listed(text);
    expect([code, body]).toEqual([2, undefined]);
    expect(err).toMatch(message);
  });
});

describe('export show', () => {
  it('show --output says that there is nothing to download yet', async () => {
    const { run } = await serve(stages(copying(0.25)));
    const { code, err } = await run('show', 'acme', exportId, '--output', join(folder, 'y.tar'));
    expect(code).toBe(1);
    expect(err).toContain('No archive to download: the export is copying.');
  });
});

it.each(exportSchema.shape.state.options)(
  'export delete says what it did, not a state: %s',
  async (state) => {
    const { run } = await serve(() => ({ status: 200, body: exportBody({ state }) }));
    const { code, out } = await run('delete', 'acme', exportId);
    expect(code).toBe(0);
    expect(out).toMatch(/^The export \w+ is (deleted|cancelled, and .* removed)\.\n$/);
  },
);
