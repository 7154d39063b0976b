import { beforeEach, describe, expect, it } from 'vitest';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import type { Reservation } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { AdoptedRepos } from '../../../../../lambda/core/store/rules/adopted-repos.ts';
import { StoreRefusedError } from '../../../../../lambda/core/store/rules/store.ts';
import { create as management } from '../../../../../lambda/functions/management.ts';
import { create as files } from '../../../../../lambda/subjects/files/handler.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { adminToken, ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';

const repos = 'POST /v1/tenants/{tenant}/repos';
const uploads = 'POST /v1/tenants/{tenant}/repos/{repo}/uploads';
const list = 'GET /v1/tenants/{tenant}/repos/{repo}/files';
const removal = 'DELETE /v1/tenants/{tenant}/repos/{repo}/files';
const tenant = 'acme';

describe('the files API', () => {
  let objects: MemoryObjectStore;
  let deps: Deps;
  const clock = new ManualClock();

  beforeEach(async () => {
    objects = new MemoryObjectStore();
    deps = memoryDeps({ objects, clock });
    const account = { plan: null, limitBytes: null, createdAtMs: 1, scanned: null, dueAtMs: 1 };
    await deps.ledger.createTenant({ ...account, tenant });
  });

  async function ask(
    routeKey: string,
    body: object,
    more: { deps?: Partial<Deps>; key?: string; query?: Record<string, string>; repo?: string } = {},
  ) {
    const { key, query, repo = 'media' } = more;
    const event = httpEvent({
      routeKey,
      headers: {
        authorization: `Bearer ${adminToken}`,
        'content-type': 'application/json',
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      pathParameters: { tenant, repo },
      body: JSON.stringify(body),
    });
    event.requestContext.timeEpoch = clock.nowMs();
    if (query) event.queryStringParameters = query;
    const create = routeKey === repos ? management : files;
    const answer = await create({ ...deps, ...more.deps } as never)(event, noContext);
    const { statusCode, body: text = '' } = answer as { statusCode: number; body?: string };
    const answered: Record<string, unknown> = { status: statusCode, ...JSON.parse(text) };
    return answered;
  }
  const newRepo = (more?: Partial<Deps>) =>
    ask(repos, { repo: 'media', kind: 'files' }, { ...(more && { deps: more }) });

  it.each([
    ['rejects', /rejects uploads with If-None-Match/],
    ['replaces', /ignores If-None-Match/],
    ['replaces-late', /only when an upload starts/],
    ['unmarked', /keeps no metadata/],
    ['waits', /ends no upload/],
  ] as const)('has no repo in a store that %s', async (kind, detail) => {
    const proveOnlyNew: Deps['proveOnlyNew'] = async () => ({ kind, status: 200 });
    expect(await newRepo({ proveOnlyNew })).toMatchObject({
      status: 409,
      code: 'store-cannot',
      detail: expect.stringMatching(detail),
    });
    expect(await deps.ledger.readRepo({ tenant, repo: 'media' })).toBeUndefined();
    // One for Git LFS needs none of it.
    expect(await ask(repos, { repo: 'media' }, { deps: { proveOnlyNew } })).toMatchObject({ status: 201 });
  });

  it('has no adopted repo, and none where the last one was of the other kind until lately', async () => {
    const adoptedRepos = new AdoptedRepos([{ tenant, repo: 'media', path: 'lfs/', names: 'oid' }]);
    expect(await newRepo({ adoptedRepos })).toMatchObject({ status: 409, code: 'wrong-kind' });
    const createRepo: Deps['ledger']['createRepo'] = async () => 'other-kind';
    const late = await newRepo({ ledger: { ...deps.ledger, createRepo } });
    expect(late).toMatchObject({ status: 409, code: 'wrong-kind', detail: expect.stringMatching(/a day/) });
  });

  it('is proven before anything else, though whoever made it died in between', async () => {
    for (const [repo, isPushed] of [
      ['pushed', true],
      ['quiet', false],
    ] as const) {
      await deps.ledger.createRepo({ tenant, repo, createdAtMs: 1, kind: 'files', isUnproven: true });
      const reservationsOf: Deps['ledger']['reservationsOf'] = async function* () {
        yield [{ entries: new Map(isPushed ? [['a'.repeat(64), 5]] : []) } as unknown as Reservation];
      };
      const ledger = Object.assign(Object.create(deps.ledger), { reservationsOf });
      const answer = await ask(list, {}, { repo, deps: { ledger } });
      expect(answer).toMatchObject(isPushed ? { status: 409, code: 'wrong-kind' } : { status: 200 });
      const record = await deps.ledger.readRepo({ tenant, repo });
      expect([record?.kind, record?.isUnproven]).toEqual([isPushed ? undefined : 'files', undefined]);
    }
  });

  it('has none where others have put objects before these are counted', async () => {
    objects.put(`${tenant}/media/a`, 5);
    expect(await newRepo()).toMatchObject({ status: 429, code: 'usage-checking' });
    expect(await deps.ledger.readRepo({ tenant, repo: 'media' })).toBeUndefined();
    await reconcile(deps, { tenant, full: true });
    expect(await newRepo()).toMatchObject({ status: 201, kind: 'files', storedBytes: 5 });
  });

  it('answers a request again by its key though the first answer was lost, and when both come at once', async () => {
    await newRepo();
    const body = { files: [{ name: 'a', bytes: 10 }] };
    const requestKeys: Deps['requestKeys'] = {
      ...deps.requestKeys,
      keepAnswer: () => Promise.reject(new Error('The function ended.')),
    };
    const lost = await ask(uploads, body, { key: 'k', deps: { requestKeys } });
    expect(lost['status']).toBe(500);
    const [one, two] = await Promise.all([
      ask(uploads, body, { key: 'k' }),
      ask(uploads, body, { key: 'k' }),
    ]);
    expect(one).toMatchObject({ status: 200, allUpload: true, uploadId: expect.stringMatching(/^\w{32}$/) });
    expect(two).toEqual(one);
    clock.advance(60_000);
    expect(await ask(uploads, body, { key: 'k' })).toEqual(one);
    expect(await ask(uploads, { ...body, lifetimeSeconds: 60 }, { key: 'k' })).toMatchObject({ status: 422 });
    expect((await ask(uploads, body))['uploadId']).not.toBe(one['uploadId']);
  });

  it('sends above 5 GiB in parts, also with a SHA-256 if the client knows of parts', async () => {
    await newRepo();
    const file = { name: 'a', bytes: 5 * 1024 ** 3 + 1, sha256: 'a'.repeat(64) };
    expect(await ask(uploads, { files: [file] })).toMatchObject({ status: 422, code: 'invalid-body' });
    const provesParts = async () => true;
    const archives = new MemoryArchiveStore({ objects });
    const proven = { deps: { provesParts, archives } as Partial<Deps> };
    const { uploads: told } = await ask(uploads, { files: [{ ...file, inParts: true }] }, proven);
    expect(told).toMatchObject([{ state: 'upload', parts: expect.any(Array) }]);
  });

  it('deletes an empty object that should be gone, by name or prefix, and shows none', async () => {
    await newRepo();
    const day = 24 * 60 * 60_000;
    for (const name of ['a/b', 'c'])
      objects.put(`${tenant}/media/${name}`, 0, undefined, clock.nowMs(), String(clock.nowMs() + day));
    const asked = (query: Record<string, string>) => ask(removal, {}, { query });
    expect(await asked({ name: 'c' })).toMatchObject({ status: 404, code: 'file-not-found' });
    expect(await asked({ prefix: 'a' })).toMatchObject({ status: 202, fileCount: 0 });
    clock.advance(day + 60_000);
    expect(await asked({ name: 'c' })).toMatchObject({ status: 202, fileCount: 1, bytes: 0 });
    expect(await asked({ prefix: 'a' })).toMatchObject({ status: 202, fileCount: 1, bytes: 0 });
    expect(await deps.ledger.deletionsNaming({ tenant, repo: 'media', oids: ['c', 'a/b'] })).toHaveLength(2);
  });

  it('names the reservation', async () => {
    await newRepo();
    const all = Array.from({ length: 100 }, (_, index) => ({ name: `${index}`, bytes: 1 }));
    for (const asked of [all, all.slice(1)]) {
      const { uploadId } = await ask(uploads, { files: asked, lifetimeSeconds: 90 });
      const key = { tenant, repo: 'media', reservationId: String(uploadId) };
      const reservation = await deps.ledger.readReservation(key);
      expect(reservation?.entries.size).toBe(asked.length);
      expect((reservation?.expiresAtMs ?? 0) - clock.nowMs()).toBe(90_000 + deps.settings.reservationSlackMs);
    }
  });

  it('says of a name that the store can’t have what it is, and of a broken store nothing of names', async () => {
    await newRepo();
    const head =
      (refuses: (key: string) => boolean): Deps['store']['head'] =>
      async (key) => {
        if (refuses(key)) throw new StoreRefusedError('400');
        return objects.head(key);
      };
    const askLong = (refuses: (key: string) => boolean) => {
      const store = Object.assign(Object.create(objects), { head: head(refuses) });
      return ask(uploads, { files: [{ name: 'x'.repeat(256), bytes: 1 }] }, { deps: { store } });
    };
    expect(await askLong((key) => key.length > 256)).toMatchObject({
      status: 422,
      detail: expect.stringMatching(/up to 255 bytes between its slashes/),
    });
    expect(await askLong(() => true)).toMatchObject({ status: 500 });
    expect(await askLong(() => false)).toMatchObject({ status: 200 });
  });
});
