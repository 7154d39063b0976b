import { beforeEach, describe, expect, it, vi } from 'vitest';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { lfsMediaType } from '../../../../../lambda/frame/api/http.ts';
import { create } from '../../../../../lambda/functions/lfs/lfs-batch.ts';
import type { CopyMessage } from '../../../../../lambda/subjects/downloads/lfs/messages.ts';
import type { WireObject } from '../../../../../lambda/subjects/lfs/contract.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { storesOn } from '../../../../../local/stores.ts';
import { batchRoute, httpEvent, noContext } from '../../../../support/http-event.ts';
import { type ManualClock, memoryDeps, replacingDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { memoryTable } from '../../../../support/memory/table.ts';
import { serve } from '../../../../support/serve.ts';
import { atTheLimit } from '../../../../support/subjects/downloads/at-the-limit.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const path = { tenant: 'acme', repo: 'game' };
const own = `lfsq_${'a'.repeat(40)}`;
const theirs = 'ghp_0123456789';
const [here, there, nowhere, deleted] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(64)) as [
  string,
  string,
  string,
  string,
];
const href = 'https://store.example.com/signed';
/** Of each signed download here. */
const ours = 'https://store.example/';
const hostUser = { id: 'forge:1234', login: 'ada' };

/** A tenant `acme` with a repo `game` of a git host that has one object more. */
describe('a repo that reads through to its git host', () => {
  let asked: { authorization: string | undefined; oids: string[] }[];
  let requests: string[];
  let deps: Deps;
  /** What the host answers for each object that it has. */
  let action: object;

  beforeEach(async () => {
    asked = [];
    action = { href, expires_in: 600 };
    requests = [];
    const url = await serve(async (request, response) => {
      let body = '';
      for await (const piece of request) body += piece;
      const { objects } = JSON.parse(body) as { objects: { oid: string; size: number }[] };
      asked.push({ authorization: request.headers.authorization, oids: objects.map(({ oid }) => oid) });
      const found = objects.filter(({ oid }) => oid !== nowhere);
      response.end(
        JSON.stringify({ objects: found.map((each) => ({ ...each, actions: { download: action } })) }),
      );
    });
    const table = memoryTable();
    const { client } = table;
    const send = client.send.bind(client);
    client.send = (name, input) => {
      requests.push(name);
      return send(name, input);
    };
    const objects = new MemoryObjectStore();
    objects.put(`acme/game/${here}`, 5);
    const store = {
      head: (key: string) => {
        requests.push('head');
        return objects.head(key);
      },
      delete: objects.delete.bind(objects),
      putEmpty: objects.putEmpty.bind(objects),
    };
    deps = memoryDeps({
      ...storesOn(table),
      objects,
      store,
      gitHosts: [{ id: 'forge', kind: 'gitea', url }],
      hostClient: {
        ask: async () => ({
          kind: 'granted',
          grant: { hostUser, access: 'read' },
          linkedId: '7',
          organizationId: '5',
          isPublic: true,
        }),
        look: async () => ({ linkedId: '7' }),
      },
    });
    const account = { plan: null, limitBytes: null, createdAtMs: 1, scanned: null, dueAtMs: 1 };
    await deps.ledger.createTenant({ ...account, tenant: 'acme' });
    await deps.tokens.put(tokenRecord(own, { tenant: 'acme' }));
    await deps.ledger.noteGone({ ...path, oids: [deleted], atMs: deps.clock.nowMs() });
    await link(true);
  });

  const link = (readThrough: boolean | undefined) =>
    deps.linkedRepos.put({
      tenant: 'acme',
      mark: {
        repo: 'game',
        host: 'forge',
        name: 'acme/game',
        linkedId: '7',
        sinceMs: 1,
        ...(readThrough !== undefined && { readThrough }),
      },
    });

  async function download(password: string | undefined, ...oids: string[]) {
    const authorization = `Basic ${Buffer.from(`ada:${password}`).toString('base64')}`;
    requests.length = 0;
    const { statusCode, body = '' } = await create(deps)(
      httpEvent({
        routeKey: batchRoute,
        headers: {
          'content-type': lfsMediaType,
          accept: lfsMediaType,
          ...(password !== undefined && { authorization }),
        },
        pathParameters: path,
        body: JSON.stringify({ operation: 'download', objects: oids.map((oid) => ({ oid, size: 5 })) }),
      }),
      noContext,
    );
    const { objects = [] } = JSON.parse(body) as { objects?: WireObject[] };
    const told = (oid: string) => {
      const object = objects.find((each) => each.oid === oid);
      return object?.actions?.['download']?.href ?? object?.error?.code;
    };
    return { statusCode, objects, told: oids.map(told) };
  }

  it("offers what's missing here with the host's URLs, and nothing that was deleted here", async () => {
    const { told, objects } = await download(theirs, here, there, nowhere, deleted);
    expect(told).toEqual([ours, href, 404, 410]);
    expect(objects.map(({ oid }) => oid)).toEqual([here, there, nowhere, deleted]);
    expect(objects[2]?.error?.message).toMatch(/^Object not found, here or on forge\./);
    const authorization = `Basic ${Buffer.from(`ada:${theirs}`).toString('base64')}`;
    expect(asked).toEqual([{ authorization, oids: [there, nowhere] }]);
    const month = new Date(deps.clock.nowMs()).toISOString().slice(0, 7);
    expect(await deps.downloads.month({ tenant: 'acme', month })).toMatchObject({ bytes: 5, objects: 1 });
  });

  it('asks nobody, and makes no other request, if all is here', async () => {
    const requestsOf = async (readThrough: boolean) => {
      await link(readThrough);
      // The first notes what the host says of the user.
      await download(theirs, here);
      expect((await download(theirs, here)).told).toEqual([ours]);
      return requests.toSorted();
    };
    const plain = await requestsOf(false);
    expect(plain).toContain('head');
    expect(await requestsOf(true)).toEqual(plain);
    expect(asked).toEqual([]);
  });

  it.each([
    ['a token of ours', own, true],
    ['a link without it', theirs, false],
    ['a link of an earlier version', theirs, undefined],
  ])('asks nobody for %s', async (_what, password, readThrough) => {
    await link(readThrough);
    const { told, objects } = await download(password, here, there);
    expect(told).toEqual([ours, 404]);
    expect(objects[1]?.error?.message).toMatch(/^Object not found\. Run/);
    expect(asked).toEqual([]);
  });

  it('asks nobody for those who come without a token', async () => {
    const mark = { repo: 'game', monthlyLimitBytes: null, sinceMs: 2 };
    await deps.publicReads.put({ tenant: 'acme', mark });
    expect((await download(undefined, here, there)).told).toEqual([ours, 404]);
    expect(asked).toEqual([]);
  });

  it('asks nobody while it is unknown what was deleted here', async () => {
    const goneOf = () => Promise.reject(new LedgerUnavailableError('Down.'));
    deps = { ...deps, ledger: { ...deps.ledger, goneOf } };
    expect((await download(theirs, here, there)).told).toEqual([ours, 404]);
    expect(asked).toEqual([]);
  });

  it("asks nobody for a size that isn't the stored one", async () => {
    (deps.listing as MemoryObjectStore).put(`acme/game/${here}`, 6);
    expect((await download(theirs, here)).told).toEqual([422]);
    expect(asked).toEqual([]);
  });

  describe('and copies what it offered', () => {
    let queued: CopyMessage[];

    beforeEach(() => {
      queued = [];
      const copyQueue = { isOn: true, send: async (all: readonly CopyMessage[]) => void queued.push(...all) };
      deps = replacingDeps(deps, { copyQueue });
    });

    const reservations = async () => {
      const found = [];
      for await (const page of deps.ledger.reservationsOf({ tenant: 'acme', repo: 'game' }))
        found.push(...page);
      return found;
    };

    it('by two signed URLs, reserved as an upload that no user is held to account for', async () => {
      await download(theirs, here, there, nowhere, deleted);
      expect(queued).toEqual([
        {
          ...path,
          oid: there,
          sizeBytes: 5,
          from: href,
          to: { href: ours, header: {} },
          untilMs: deps.clock.nowMs() + 600_000,
        },
      ]);
      expect(await reservations()).toMatchObject([
        { state: 'issued', entries: new Map([[there, 5]]), madeBy: 'read-through' },
      ]);
      expect(JSON.stringify(queued)).not.toContain(theirs);
    });

    it('once, however many pull it, until its URLs have expired', async () => {
      for (let times = 0; times < 3; times += 1) await download(theirs, there);
      expect(queued).toHaveLength(1);
      expect(await reservations()).toHaveLength(1);
      (deps.clock as ManualClock).advance(deps.settings.urlLifetimeMs + 1);
      await download(theirs, there);
      expect(queued).toHaveLength(2);
    });

    it.each([
      ['needs headers, which can have the token', { header: { authorization: 'Basic secret' } }],
      ['expires in a moment', { expires_in: 30 }],
    ])('but nothing that %s', async (_what, more) => {
      action = { href, expires_in: 600, ...more };
      expect((await download(theirs, there)).told).toEqual([href]);
      expect([queued, await reservations()]).toEqual([[], []]);
    });

    it('but nothing beyond the limit, which nobody is told of', async () => {
      const scanned = { storedBytes: 90, objectCount: 1, scannedAtMs: deps.clock.nowMs() };
      const read = deps.ledger.readTenant;
      const full = (limitBytes: number) =>
        vi.spyOn(deps.ledger, 'readTenant').mockImplementation(async (tenant) => {
          const record = await read(tenant);
          return record && { ...record, limitBytes, scanned, committedBytes: 90 };
        });
      full(94);
      expect((await download(theirs, there)).told).toEqual([href]);
      expect([queued, await reservations()]).toEqual([[], []]);
      full(95);
      await download(theirs, there);
      expect(queued).toHaveLength(1);
    });

    it('but nothing that only a reconcile can tell the room for: a pull never waits for one', async () => {
      const begin = vi.spyOn(deps.ledger, 'beginReconcile');
      atTheLimit(deps);
      expect((await download(theirs, there)).told).toEqual([href]);
      expect(begin).not.toHaveBeenCalled();
      expect([queued, await reservations()]).toEqual([[], []]);
    });

    it('and offers it all the same if that fails', async () => {
      deps = replacingDeps(deps, {
        copyQueue: { isOn: true, send: () => Promise.reject(new Error('Down.')) },
      });
      const { statusCode, told } = await download(theirs, there);
      expect([statusCode, told]).toEqual([200, [href]]);
    });

    it('asks for nothing more if all is here', async () => {
      await download(theirs, here);
      expect([queued, await reservations()]).toEqual([[], []]);
    });
  });

  it('does so for each repo of a tenant that is linked with it', async () => {
    await deps.linkedRepos.end({ ...path, atMs: 2 });
    const to = { host: 'forge', organization: 'acme', publicRead: null, readThrough: true };
    const linked = { ...to, organizationId: null, sinceMs: 3, pinnedCount: 0 };
    await deps.tenantLinks.change('acme', () => linked);
    expect((await download(theirs, here, there)).told).toEqual([ours, href]);
    await deps.tenantLinks.change('acme', (link) => link && { ...link, readThrough: false });
    expect((await download(theirs, here, there)).told).toEqual([ours, 404]);
    expect(asked).toHaveLength(1);
  });
});
