import { beforeEach, describe, expect, it } from 'vitest';
import { lfsMediaType } from '../../../../../lambda/frame/api/http.ts';
import { create } from '../../../../../lambda/functions/lfs/lfs-batch.ts';
import { batchRoute, httpEvent, noContext } from '../../../../support/http-event.ts';
import { ScanningDeps } from '../../../../support/memory/counting-deps.ts';
import { replacingDeps } from '../../../../support/memory/deps.ts';
import { updateTenant } from '../../../../support/over-settings.ts';
import { MemoryPublicReads } from '../../../../support/subjects/downloads/in-memory.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const oid = 'b'.repeat(64);
const own = `lfsq_${'a'.repeat(40)}`;
const foreign = `lfsq_${'f'.repeat(40)}`;

/** A tenant `acme` with a public repo `open` and a private one `game`; a tenant `other` with a token of its own. */
describe('a batch without a token for the repo', () => {
  let world: ScanningDeps;
  let finds: string[];
  let handle: ReturnType<typeof create>;

  beforeEach(async () => {
    world = new ScanningDeps({ tableMs: 5, headMs: 20, listMs: 40 });
    const account = { plan: null, limitBytes: null, createdAtMs: 1, scanned: null, dueAtMs: 1 };
    for (const tenant of ['acme', 'other']) await world.ledger.createTenant({ ...account, tenant });
    for (const repo of ['open', 'game']) {
      world.store.put(`acme/${repo}/${oid}`, 60);
      await world.ledger.markDirty({ tenant: 'acme', repo, dirtyToken: 't' });
    }
    await world.tokens.put(tokenRecord(own, { tenant: 'acme' }));
    await world.tokens.put(tokenRecord(foreign, { tenant: 'other' }));
    const publicReads = new MemoryPublicReads();
    await publicReads.put({
      tenant: 'acme',
      mark: { repo: 'open', monthlyLimitBytes: 1_000_000, sinceMs: 1 },
    });
    finds = [];
    handle = create({
      ...replacingDeps(world.deps, {
        publicReads: Object.assign(publicReads, {
          find: async (path: Parameters<MemoryPublicReads['find']>[0]) => {
            finds.push(`${path.tenant}/${path.repo}`);
            return MemoryPublicReads.prototype.find.call(publicReads, path);
          },
        }),
      }),
    });
  });

  interface Asked {
    readonly tenant?: string;
    readonly repo?: string;
    readonly authorization?: string;
    readonly body?: object | string;
  }

  async function send({ tenant = 'acme', repo = 'game', authorization, body }: Asked) {
    const what = body ?? { operation: 'download', objects: [{ oid, size: 60 }] };
    const event = httpEvent({
      headers: {
        'content-type': lfsMediaType,
        accept: lfsMediaType,
        ...(authorization !== undefined && { authorization }),
      },
      routeKey: batchRoute,
      path: `/${tenant}/${repo}.git/info/lfs/objects/batch`,
      pathParameters: { tenant, repo: `${repo}.git` },
      body: typeof what === 'string' ? what : JSON.stringify(what),
    });
    const { result } = await world.measure(() => handle(event, noContext));
    return { answer: result, calls: world.calls.map(({ name }) => name) };
  }

  it('downloads from a public repo', async () => {
    const { answer, calls } = await send({ repo: 'open' });
    expect(answer.statusCode, answer.body).toBe(200);
    expect(JSON.parse(answer.body ?? '')).toMatchObject({
      transfer: 'basic',
      objects: [{ oid, size: 60, authenticated: true, actions: { download: {} } }],
    });
    expect(calls.filter((name) => /Token/.test(name))).toEqual([]);
    expect(finds).toEqual(['acme/open']);
  });

  it.each([
    ['a private repo', {}],
    ['an absent one', { repo: 'absent' }],
    ['an absent tenant’s', { tenant: 'absent' }],
  ])('is told of %s what is told of all, after one read, without a LIST or a write', async (_what, of) => {
    const { answer, calls } = await send(of);
    expect(answer).toEqual((await send({ tenant: 'nobody', repo: 'nothing' })).answer);
    expect(answer).toMatchObject({
      statusCode: 401,
      headers: { 'lfs-authenticate': 'Basic realm="lfs-quota"' },
    });
    expect(calls).toEqual([]);
    expect(finds).toHaveLength(2);
  });

  it.each([
    ['an upload', { operation: 'upload', objects: [{ oid, size: 60 }] }],
    ['no JSON', '{'],
    ['no objects', { operation: 'download', objects: [] }],
  ])('that is %s is told to log in, public or not, and nothing is read', async (_what, body) => {
    const { answer, calls } = await send({ repo: 'open', body });
    expect(answer.statusCode).toBe(401);
    expect(answer).toEqual((await send({ repo: 'absent', body })).answer);
    expect([...calls, ...finds]).toEqual([]);
  });

  it.each(['UPPER', '..', ''])('for a tenant %j, which none can be called, reads nothing', async (tenant) => {
    expect((await send({ tenant, repo: 'open' })).answer.statusCode).toBe(401);
    expect(finds).toEqual([]);
  });

  it.each([
    ['a wrong token', `Bearer lfsq_${'x'.repeat(40)}`],
    ['a login without a password', `Basic ${Buffer.from('ada:').toString('base64')}`],
    ['a login that is none', 'Basic'],
  ])('with %s is refused, also for a public repo', async (_what, authorization) => {
    expect((await send({ repo: 'open', authorization })).answer.statusCode).toBe(401);
    expect(finds).toEqual([]);
  });

  it('with the token of another tenant downloads from a public repo, and of others it learns nothing', async () => {
    const authorization = `Bearer ${foreign}`;
    expect((await send({ repo: 'open', authorization })).answer.statusCode).toBe(200);
    const { answer, calls } = await send({ authorization });
    expect(answer.statusCode).toBe(404);
    expect(calls).toEqual(['findToken']);
    expect(answer).toEqual((await send({ tenant: 'nobody', authorization })).answer);
  });

  it('that names nothing valid is answered without a write, as it would count nothing', async () => {
    const body = { operation: 'download', objects: [{ oid: 'no hash', size: 60 }] };
    const { answer, calls } = await send({ repo: 'open', body });
    expect(JSON.parse(answer.body ?? '')).toMatchObject({
      objects: [{ oid: 'no hash', error: { code: 422 } }],
    });
    expect(calls.filter((name) => /meter|correct|HEAD|LIST/i.test(name))).toEqual([]);
  });

  it('is never looked for if there is a token for the repo', async () => {
    const { answer } = await send({ repo: 'open', authorization: `Bearer ${own}` });
    expect(answer.statusCode).toBe(200);
    expect(finds).toEqual([]);
  });

  it('ends at the ceiling with one message that has the numbers', async () => {
    const objects = Array.from({ length: 200 }, (_, index) => ({
      oid: `${index}`.padStart(64, '0'),
      size: 5_000,
    }));
    expect((await send({ repo: 'open' })).answer.statusCode).toBe(200);
    const { answer, calls } = await send({ repo: 'open', body: { operation: 'download', objects } });
    expect(answer.statusCode).toBe(509);
    expect(JSON.parse(answer.body ?? '').message).toMatch(
      /^Public download limit reached: acme\/open used 4 KiB of 976\.56 KiB, this needs 976\.56 KiB\. It resets on \d{4}-\d\d-01 \(UTC\)\. Have a token\? Run: git config --global lfs\.https:\/\/abc123\.execute-api\.eu-west-1\.amazonaws\.com\/acme\/open\.git\/info\/lfs\.access basic$/,
    );
    expect(calls.filter((name) => /HEAD|LIST|meterDownloads/.test(name))).toEqual([]);
  });

  it('ends at the tenant’s limit with a message that has none of its numbers', async () => {
    await updateTenant(world.ledger, { tenant: 'acme', downloadLimitBytes: 59 });
    const { answer } = await send({ repo: 'open' });
    expect(answer.statusCode).toBe(509);
    expect(JSON.parse(answer.body ?? '').message).toMatch(
      /^Monthly download limit reached for acme\. It resets on \d{4}-\d\d-01 \(UTC\)\.$/,
    );
  });
});
