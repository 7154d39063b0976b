import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, type Asked, cli, startServer, type TestServer } from './harness.ts';

const oid = 'a'.repeat(64);
const otherOid = 'b'.repeat(64);
const plan = { tenant: 'acme', repo: 'game', objectCount: 1204, bytes: 1536, dueAt: '2026-11-21T05:00:00Z' };

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(answer: (asked: Asked) => Answer, options: Omit<Parameters<typeof cli>[1], 'env'> = {}) {
  server = await startServer(answer);
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'admin-secret' };
  const { asked } = server;
  return {
    asked: () => asked.map(({ method, path }) => `${method} ${path}`),
    run: (...args: string[]) => cli(args, { env, ...options }),
  };
}

it('--json prints the body of a delete as it is', async () => {
  const text = `{ "tenant":"acme", "objectCount":1, "bytes":2,\n "dueAt":"2026-11-21T05:00:00Z", "new":1 }`;
  const { run } = await serve(() => ({ status: 202, body: text }));
  for (const option of ['--yes', '--dry-run'])
    expect(await run('repo', 'delete', 'acme', 'game', option, '--json')).toEqual({
      code: 0,
      out: `${text}\n`,
      err: '',
    });
});

describe('files delete --wait', () => {
  const minuteMs = 60_000;
  const began = Date.parse('2026-11-21T05:00:00Z');
  const at = (afterMs: number) => new Date(began + afterMs).toISOString().replace('.000Z', 'Z');
  const graceMs = 5 * minuteMs;

  /** A store with both objects on a clock that a sleep moves. `dueAt` says when one is due, or that it is gone. */
  const serveUntil = async (
    dueAt: (of: string, nowMs: number) => string | undefined,
    options: { isTerminal?: boolean } = {},
  ) => {
    let nowMs = began;
    const answer = ({ path }: Asked): Answer => {
      if (!path.includes('/objects/'))
        return { status: 404, body: { code: 'repo-not-found', detail: 'It has no record.' } };
      const due = dueAt(path.includes(otherOid) ? otherOid : oid, nowMs);
      return due
        ? {
            status: path.endsWith('?dryRun=true') ? 200 : 202,
            body: { ...plan, objectCount: 1, bytes: 512, dueAt: due },
          }
        : { status: 404, body: { code: 'object-not-found', detail: 'None.' } };
    };
    const sleep = async () => {
      nowMs += 1000;
      if (nowMs > began + 4 * graceMs) throw new Error('It waits for ever.');
    };
    const { asked, run } = await serve(answer, { now: () => nowMs, sleep, ...options });
    const wait = (...more: string[]) =>
      run('files', 'delete', ...more, '--tenant', 'acme', '--repo', 'game', '--yes', '--wait');
    return { asked, wait, waitedMs: () => nowMs - began };
  };

  it('says when they are due, and ends when all are gone', async () => {
    const goneMs = graceMs + minuteMs;
    const { asked, wait, waitedMs } = await serveUntil((of, nowMs) =>
      nowMs - began < (of === oid ? goneMs : goneMs + minuteMs) ? at(graceMs) : undefined,
    );
    const result = await wait(oid, otherOid);
    expect(result.code).toBe(0);
    expect(result.err.split('\n')).toEqual([
      `2 objects left, 1 KiB, due at ${at(graceMs)}`,
      '2 objects left, 1 KiB; deleted with the next run of the schedule',
      '1 object left, 512 B; deleted with the next run of the schedule',
      '',
    ]);
    expect(result.out.split('\n').slice(2)).toEqual(['acme/game: 2 objects deleted.', '']);
    expect(waitedMs()).toBe(goneMs + minuteMs);
    // The repo's kind first, then a look a minute until they are due, and then six.
    expect(asked()).toHaveLength(1 + 2 + 2 * 5 + 2 * 6 + 6);
  });

  it('counts down on a terminal, and prints nothing with --json', async () => {
    const goneAt = (_: string, nowMs: number) => (nowMs - began < graceMs ? at(graceMs) : undefined);
    const { wait } = await serveUntil(goneAt, { isTerminal: true });
    const { out, err } = await wait(oid);
    for (const left of ['5 min', '3 min', '119 s', '1 s'])
      expect(err).toContain(`\r\u001b[K1 object left, 512 B, due in ${left}\r`);
    expect(err.endsWith('\r\u001b[K')).toBe(true);
    expect(out.endsWith('\nacme/game: 1 object deleted.\n')).toBe(true);
    await server?.close();
    const asJson = await serveUntil(goneAt);
    expect(JSON.parse((await asJson.wait(oid, '--json')).out)).toMatchObject({ dueAt: at(graceMs) });
    expect(asJson.waitedMs()).toBeGreaterThanOrEqual(graceMs);
  });

  it('waits on for one that an upload held when it was due', async () => {
    const heldMs = graceMs + 4 * minuteMs;
    const { wait, waitedMs } = await serveUntil((_, nowMs) => {
      if (nowMs - began < graceMs + 20_000) return at(graceMs);
      return nowMs - began < heldMs ? at(heldMs) : undefined;
    });
    const result = await wait(oid);
    expect(result.code).toBe(0);
    expect(result.err).toContain(`1 object left, 512 B, due at ${at(heldMs)}\n`);
    expect(waitedMs()).toBeGreaterThanOrEqual(heldMs);
  });

  it('says which were pushed again and so are kept, when the others are gone', async () => {
    const pushedMs = 2 * minuteMs;
    const { wait, waitedMs } = await serveUntil((of, nowMs) => {
      if (of === otherOid) return nowMs - began < graceMs ? at(graceMs) : undefined;
      return at(nowMs - began < pushedMs ? graceMs : nowMs - began + graceMs);
    });
    const result = await wait(oid, otherOid);
    expect(result.code).toBe(1);
    expect(result.out).toContain('acme/game: 1 object deleted.\n');
    expect(result.err).toContain(`Kept, because it was pushed again: ${oid}\n`);
    expect(result.err).toContain('delete it again');
    expect(waitedMs()).toBeLessThan(graceMs + minuteMs);
  });

  it('does not wait after a dry run', async () => {
    const { asked, wait } = await serveUntil(() => at(graceMs));
    expect((await wait(oid, '--dry-run')).code).toBe(0);
    expect(asked()).toHaveLength(2);
  });
});

describe('repo delete --wait', () => {
  const repo = {
    repo: 'game',
    limitBytes: null,
    storedBytes: 3072,
    objectCount: 3,
    scannedAt: '2026-11-21T05:00:01Z',
  };
  /** The repo as it is from one look to the next. */
  const looks = (...counts: readonly (object | undefined)[]) => {
    const left = [...counts];
    return ({ method }: Asked): Answer => {
      if (method === 'DELETE') return { status: 202, body: plan };
      const now = left.shift();
      return now
        ? { status: 200, body: { ...repo, deleting: true, ...now } }
        : { status: 404, body: { code: 'repo-not-found', detail: 'None.' } };
    };
  };
  const unknown = { storedBytes: null, objectCount: null, scannedAt: null };

  it('shows what is left until it is empty', async () => {
    const before = { objectCount: 0, scannedAt: '2026-11-21T04:59:59Z' };
    const { asked, run } = await serve(looks(unknown, before, {}, {}, { objectCount: 0, storedBytes: 0 }));
    const result = await run('repo', 'delete', 'acme', 'game', '--yes', '--wait');
    expect(result.code).toBe(0);
    expect(result.err).toBe('not scanned yet\n0 objects left, 3 KiB\n3 objects left, 3 KiB\n');
    expect(result.out).toMatch(/\nacme\/game is empty\. You can reuse its name in a minute or two\.\n$/);
    expect(asked()).toHaveLength(6);
  });

  it('says until when it waits for uploads, counts down on a terminal, and ends by itself', async () => {
    const waiting = { ...plan, dueAt: '2026-11-21T05:36:10Z', waitsFor: 'uploads' };
    const answers = () => {
      const empty = { objectCount: 0, storedBytes: 0, scannedAt: '2026-11-21T05:37:00Z' };
      const look = looks({}, {}, { objectCount: 0, storedBytes: 0 }, empty);
      return (asked: Asked) => (asked.method === 'DELETE' ? { status: 202, body: waiting } : look(asked));
    };
    const inFile = await serve(answers());
    const args = ['repo', 'delete', 'acme', 'game', '--yes', '--wait'];
    const result = await inFile.run(...args);
    expect(result.code).toBe(0);
    const waits = '; uploads to it are in progress, and the rest is deleted';
    expect(result.out.split('\n').slice(2)).toEqual([
      'Recent uploads are deleted after their URLs expire: the last one in 36 min, at ' +
        '2026-11-21T05:36:10Z.',
      'acme/game is empty. You can reuse its name in a minute or two.',
      '',
    ]);
    expect(result.err.split('\n')).toEqual([
      `3 objects left, 3 KiB${waits} at 2026-11-21T05:36:10Z`,
      `0 objects left, 0 B${waits} at 2026-11-21T05:36:10Z`,
      '',
    ]);
    await server?.close();
    let nowMs = Date.parse('2026-11-21T05:00:00Z');
    const onTerminal = await serve(answers(), {
      isTerminal: true,
      now: () => nowMs,
      sleep: async () => {
        nowMs += 20 * 60_000;
      },
    });
    const { err } = await onTerminal.run(...args);
    expect(err).toContain(`K3 objects left, 3 KiB${waits} in 36 min\r`);
    expect(err).toContain(`K3 objects left, 3 KiB${waits} in 16 min\r`);
    expect(err).toContain('K0 objects left, 0 B; the rest is deleted with the next run of the schedule\r');
  });

  it('ends when the repo is open again, whatever is in it', async () => {
    const { run } = await serve(looks({}, { deleting: undefined }));
    expect((await run('repo', 'delete', 'acme', 'game', '--yes', '--wait')).out).toContain('is empty');
  });

  it('redraws one line on a terminal, and prints nothing with --json', async () => {
    const forHostUser = await serve(looks({}, undefined), { isTerminal: true });
    const { out, err } = await forHostUser.run('repo', 'delete', 'acme', 'game', '--yes', '--wait');
    expect(err).toBe('\r\u001b[K3 objects left, 3 KiB\r\u001b[K');
    expect(out).toContain('\nacme/game is empty.');
    await server?.close();
    const asJson = await serve(looks({}, undefined));
    const result = await asJson.run('repo', 'delete', 'acme', 'game', '--yes', '--wait', '--json');
    expect(JSON.parse(result.out)).toEqual(plan);
    expect(asJson.asked()).toHaveLength(3);
  });
});
