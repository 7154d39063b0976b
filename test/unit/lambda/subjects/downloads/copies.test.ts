import { beforeEach, describe, expect, it, vi } from 'vitest';
import { lfsMediaType } from '../../../../../lambda/frame/api/http.ts';
import { create } from '../../../../../lambda/functions/lfs/lfs-batch.ts';
import type { WireCopy } from '../../../../../lambda/subjects/downloads/lfs/copies-contract.ts';
import type { CopyMessage } from '../../../../../lambda/subjects/downloads/lfs/messages.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { atTheLimit } from '../../../../support/subjects/downloads/at-the-limit.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const path = { tenant: 'acme', repo: 'game' };
const [writer, reader] = [`lfsq_${'a'.repeat(40)}`, `lfsq_${'b'.repeat(40)}`];
const oidOf = (digit: string) => digit.repeat(64);
const [here, there] = [oidOf('a'), oidOf('b')];
const href = 'https://store.example.com/signed?signature=theirs';
const link = { oid: there, size: 5, href };

/** A tenant `acme` with a limit of 100 bytes, and a repo `game` with one object. */
describe('copies from another server', () => {
  const clock = new ManualClock();
  let deps: Deps;
  let objects: MemoryObjectStore;
  let queued: CopyMessage[];
  let logged: ReturnType<typeof recordingLog>;

  beforeEach(async () => {
    queued = [];
    objects = new MemoryObjectStore();
    objects.put(`acme/game/${here}`, 5);
    logged = recordingLog();
    const copyQueue = { isOn: true, send: async (all: readonly CopyMessage[]) => void queued.push(...all) };
    deps = memoryDeps({ objects, clock, copyQueue, log: logged.log });
    const scanned = { storedBytes: 5, objectCount: 1, scannedAtMs: clock.nowMs() };
    const account = { plan: null, limitBytes: 100, createdAtMs: 1, scanned, dueAtMs: 1 };
    await deps.ledger.createTenant({ ...account, tenant: 'acme' });
    await deps.tokens.put(tokenRecord(writer, { tenant: 'acme' }));
    await deps.tokens.put(tokenRecord(reader, { tenant: 'acme', scope: 'read' }));
  });

  async function ask(asked: unknown, token: string | undefined = writer) {
    const routeKey = 'POST /{tenant}/{repo}/info/lfs/objects/copies';
    const { statusCode, body = '' } = await create(deps)(
      httpEvent({
        routeKey,
        headers: {
          'content-type': lfsMediaType,
          accept: lfsMediaType,
          ...(token && { authorization: `Bearer ${token}` }),
        },
        pathParameters: path,
        body: typeof asked === 'string' ? asked : JSON.stringify(asked),
      }),
      noContext,
    );
    const answer = JSON.parse(body) as { objects?: WireCopy[]; message?: string };
    expect(JSON.stringify([answer, logged.entries])).not.toContain('signature=theirs');
    return { statusCode, ...answer };
  }

  const states = async (...asked: unknown[]) => (await ask({ objects: asked })).objects ?? [];

  const reservations = async () => {
    const found = [];
    for await (const page of deps.ledger.reservationsOf(path)) found.push(...page);
    return found;
  };

  it('are queued with two signed URLs, reserved as an upload of whoever asks', async () => {
    expect(await states({ ...link, expires_in: 600 }, { oid: here, size: 5, href })).toEqual([
      { oid: there, size: 5, state: 'queued' },
      { oid: here, size: 5, state: 'stored' },
    ]);
    const to = { href: 'https://store.example/', header: {} };
    const untilMs = clock.nowMs() + 600_000;
    expect(queued).toEqual([{ ...path, oid: there, sizeBytes: 5, from: href, to, untilMs }]);
    const [made, ...more] = await reservations();
    expect(more).toEqual([]);
    expect(made).toMatchObject({ state: 'issued', entries: new Map([[there, 5]]) });
    expect(made?.madeBy).not.toBe('read-through');
  });

  it('are told until they are stored, and queued once meanwhile', async () => {
    const asked = { oid: there, size: 5 };
    expect(await states(asked)).toEqual([{ ...asked, state: 'missing' }]);
    for (let times = 0; times < 2; times += 1) await states(link);
    expect(queued).toHaveLength(1);
    expect(await reservations()).toHaveLength(1);
    expect(await states(asked)).toEqual([{ ...asked, state: 'queued' }]);
    objects.put(`acme/game/${there}`, 5);
    await deps.copies.end({ ...path, oid: there, failed: undefined });
    expect(await states(asked, { oid: here, size: 6 })).toMatchObject([
      { ...asked, state: 'stored' },
      { error: { code: 422, message: expect.stringContaining('Size mismatch') } },
    ]);
  });

  it('that failed are told with the reason, and queued again at once with a new URL', async () => {
    await states(link);
    await deps.copies.end({ ...path, oid: there, failed: 'upstream-403' });
    expect(await states({ oid: there, size: 5 })).toEqual([
      { oid: there, size: 5, state: 'failed', reason: 'upstream-403' },
    ]);
    expect(await states({ ...link, href: `${href}2` })).toMatchObject([{ state: 'queued' }]);
    expect(queued.map(({ from }) => from)).toEqual([href, `${href}2`]);
  });

  it('whose message was lost are missing again once their URLs have expired', async () => {
    await states({ ...link, expires_in: 100 });
    clock.advance(100_001);
    expect(await states({ oid: there, size: 5 })).toMatchObject([{ state: 'missing' }]);
    await states(link);
    expect(queued).toHaveLength(2);
  });

  it('beyond the limit are refused as an upload is', async () => {
    const [fits, large] = await states({ ...link, size: 95 }, { ...link, oid: oidOf('c'), size: 1 });
    expect(fits).toMatchObject({ state: 'queued' });
    expect(large).toMatchObject({ error: { code: 507, message: expect.stringMatching(/^Storage limit/) } });
    expect(large).not.toHaveProperty('state');
    expect(queued).toHaveLength(1);
  });

  it.each([
    ['is too large for one PUT', { size: 6 * 1024 ** 3 }, /too large/],
    ['expires in a moment', { expires_in: 59 }, /expires within 60 seconds/],
  ])('of what %s are refused beside others', async (_what, more, message) => {
    const [one, other] = await states({ ...link, ...more }, { ...link, oid: oidOf('c') });
    expect(one).toMatchObject({ error: { code: 422, message: expect.stringMatching(message) } });
    expect(other).toMatchObject({ state: 'queued' });
    expect(queued).toHaveLength(1);
  });

  it.each([
    ['no JSON', 'x', 400],
    ['no objects', { objects: [] }, 422],
    ['too many', { objects: Array.from({ length: 101 }, () => link) }, 422],
    ['an object twice', { objects: [link, link] }, 422],
    ['no oid', { objects: [{ ...link, oid: 'x' }] }, 422],
    ['no size', { objects: [{ ...link, size: -1 }] }, 422],
    ['no URL', { objects: [{ ...link, href: 'x' }] }, 422],
    ['a file', { objects: [{ ...link, href: 'file:///etc/passwd' }] }, 422],
    ['a login', { objects: [{ ...link, href: 'https://ada:secret@store.example.com/x' }] }, 422],
    ['a broken host', { objects: [{ ...link, href: 'https://[x/y' }] }, 422],
    ['a long URL', { objects: [{ ...link, href: `${href}${'x'.repeat(4_096)}` }] }, 422],
  ])('for a body with %s are refused', async (_what, body, statusCode) => {
    expect((await ask(body)).statusCode).toBe(statusCode);
    expect([queued, await reservations()]).toEqual([[], []]);
  });

  it('are no matter of readers, or of anybody for a public repo', async () => {
    await deps.publicReads.put({
      tenant: 'acme',
      mark: { repo: 'game', monthlyLimitBytes: null, sinceMs: 2 },
    });
    expect(await ask({ objects: [link] }, reader)).toMatchObject({
      statusCode: 403,
      message: expect.stringContaining('read-only'),
    });
    expect((await ask({ objects: [link] }, '')).statusCode).toBe(401);
    expect(queued).toEqual([]);
  });

  it('are none on a server that copies nothing, which says so', async () => {
    deps = { ...deps, copyQueue: { isOn: false, send: async () => undefined } };
    expect(await ask({ objects: [link] })).toMatchObject({
      statusCode: 501,
      message: expect.stringContaining('gitHosts'),
    });
  });

  it('wait for a reconcile at the limit, as an upload does', async () => {
    const begin = vi.spyOn(deps.ledger, 'beginReconcile');
    atTheLimit(deps);
    await ask({ objects: [link] });
    expect(begin).toHaveBeenCalled();
  });
});
