import { beforeEach, describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import type { Table } from '../../../../../lambda/core/table/requests.ts';
import { lastingTokenId, tokenIdOf } from '../../../../../lambda/frame/access/rules/tokens.ts';
import { createDynamoDbTokenStore } from '../../../../../lambda/frame/access/token-store.ts';
import { lfsMediaType } from '../../../../../lambda/frame/api/http.ts';
import { create as createBatch } from '../../../../../lambda/functions/lfs/lfs-batch.ts';
import { create } from '../../../../../lambda/subjects/chunks/lfs-handler.ts';
import type { ChunkMessage } from '../../../../../lambda/subjects/chunks/messages.ts';
import {
  type ChunkedUpload,
  chunkKey,
  initialState,
  inState,
  type UploadPath,
} from '../../../../../lambda/subjects/chunks/rules/upload.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { batchRoute, httpEvent, noContext } from '../../../../support/http-event.ts';
import { ManualClock, memoryDeps, recordingJobs, replacingDeps } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { MemoryTokenStore } from '../../../../support/memory/stores.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const [mib, gib, day] = [1024 ** 2, 1024 ** 3, 24 * 3_600_000];
const [tenant, repo] = ['acme', 'game'];
const [ada, ben, ciToken] = ['a', 'b', 'c'].map((each) => `lfsq_${each.repeat(40)}`) as [
  string,
  string,
  string,
];
const oid = 'b'.repeat(64);
const smallOid = 'c'.repeat(64);
const sha256 = 'd'.repeat(64);
/** 112 chunks of 64 MiB, and one of 5 bytes. */
const large = { oid, size: 7 * gib + 5 };
const small = { oid: smallOid, size: 60 };
const withChunks = ['lfs-quota', 'basic'];

interface Action {
  readonly href: string;
  readonly header: Readonly<Record<string, string>>;
  readonly expires_in: number;
}
interface BatchBody {
  readonly transfer: string;
  readonly objects: readonly {
    readonly oid: string;
    readonly actions?: { readonly upload: Action; readonly verify?: Action };
    readonly error?: { readonly code: number; readonly message: string };
  }[];
}

let deps: Deps;
let clock: ManualClock;
let objects: MemoryObjectStore;
let messages: ChunkMessage[];
let tokenTable: Table;

beforeEach(async () => {
  const [ledger, tokens] = [new MemoryLedger(), new MemoryTokenStore()];
  tokenTable = tokens.table;
  const chunks = recordingJobs<ChunkMessage>();
  [clock, objects, messages] = [new ManualClock(), new MemoryObjectStore(), chunks.messages];
  const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: clock.nowMs() };
  const account = { tenant, plan: null, limitBytes: 20 * gib, createdAtMs: 1, scanned, dueAtMs: 1 };
  await ledger.createTenant(account);
  for (const token of [ada, ben]) await tokens.put(tokenRecord(token, { tenant }));
  deps = memoryDeps({ ledger, tokens, clock, objects, chunkQueue: chunks.queue });
});

const lfsHeaders = { 'content-type': lfsMediaType, accept: lfsMediaType };

async function batch(
  asked: readonly { oid: string; size: number }[],
  { token = ada, operation = 'upload', transfers = withChunks, settings = defaultSettings } = {},
) {
  const event = httpEvent({
    routeKey: batchRoute,
    headers: { authorization: `Bearer ${token}`, ...lfsHeaders },
    pathParameters: { tenant, repo: `${repo}.git` },
    body: JSON.stringify({ operation, transfers, objects: asked }),
  });
  const { statusCode, body = '' } = await createBatch(replacingDeps(deps, { settings }))(event, noContext);
  return { statusCode, body: JSON.parse(body) as BatchBody };
}

/** The action of a chunked upload of the large object. */
async function begin(options: Parameters<typeof batch>[1] = {}): Promise<Action> {
  const { body } = await batch([large], options);
  const action = body.objects?.[0]?.actions?.upload;
  if (!action) throw new Error(JSON.stringify(body));
  return action;
}

function pathOfAction({ href }: Action): UploadPath {
  const [, upload = ''] = /\/acme\/game\.git\/info\/lfs\/chunks\/b{64}\/([\da-f]{32})$/.exec(href) ?? [];
  return { tenant, repo, oid, upload };
}

async function call(
  method: 'GET' | 'POST',
  action: Action,
  sent?: unknown,
  path: UploadPath = pathOfAction(action),
) {
  const event = httpEvent({
    method,
    routeKey: `${method} /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}`,
    headers: {
      ...lfsHeaders,
      ...Object.fromEntries(
        Object.entries(action.header).map(([name, value]) => [name.toLowerCase(), value]),
      ),
    },
    pathParameters: { ...path, repo: `${repo}.git` },
    ...(sent !== undefined && { body: JSON.stringify(sent) }),
  });
  const { statusCode, body = '' } = await create(deps)(event, noContext);
  return { statusCode, body: JSON.parse(body) };
}

const change = (action: Action, changeOf: (before: ChunkedUpload) => ChunkedUpload) =>
  deps.chunkedUploads.change(pathOfAction(action), changeOf);
const show = (action: Action) => call('GET', action);
const ask = (action: Action, { stored = [], wanted = [] }: { stored?: unknown[]; wanted?: unknown[] } = {}) =>
  call('POST', action, { stored, wanted });

const reservationOf = ({ upload: reservationId }: UploadPath) =>
  deps.ledger.readReservation({ tenant, repo, reservationId });

/** As if a worker had read all chunks. */
async function proveAll(path: UploadPath, count = 113) {
  const states = [
    initialState,
    ...Array.from({ length: count }, (_, chunk) => String(chunk).padStart(64, '0')),
  ];
  states[113] = oid;
  const upload = await deps.chunkedUploads.read(path);
  if (!upload) throw new Error('There is no such upload.');
  for (let chunk = 0; chunk < count; chunk += 1) {
    const [before = '', after = ''] = [states[chunk], states[chunk + 1]];
    const sizeBytes = chunk === 112 ? 5 : 64 * mib;
    objects.putVersion(chunkKey(path, chunk), { sizeBytes, etag: `"${chunk}"` });
    await deps.chunkedUploads.putProof(upload, { chunk, before, after, etag: `"${chunk}"`, sizeBytes });
  }
  return states;
}

describe('a batch with a large object', () => {
  it('gets an upload in chunks, and plain PUTs for the rest', async () => {
    const { body } = await batch([small, large]);
    expect(body.transfer).toBe('lfs-quota');
    const [plain, chunked] = body.objects;
    expect(plain?.actions?.upload.href).toBe('https://store.example/');
    const { upload, verify } = chunked?.actions ?? {};
    expect(upload?.header).toEqual({ 'Lfs-Quota-Upload': expect.stringMatching(/^lfsc_\w{40}$/) });
    expect(upload?.expires_in).toBe(86_400);
    expect(verify?.href).toMatch(/\/info\/lfs\/verify$/);
    const path = pathOfAction(upload as Action);
    const reservation = await reservationOf(path);
    expect(reservation).toMatchObject({ state: 'issued', chunked: new Set([oid]) });
    expect(reservation?.lapsedAtMs).toBe(clock.nowMs() + 8 * day);
    expect((await deps.ledger.readTenant(tenant))?.committedBytes).toBe(large.size + small.size);
    // No token is in the table.
    const token = upload?.header['Lfs-Quota-Upload'] ?? '';
    expect(JSON.stringify(await deps.chunkedUploads.read(path))).not.toContain(token);
  });

  it('is as ever if nothing in it is large', async () => {
    const { body } = await batch([small]);
    expect(body.transfer).toBe('basic');
    expect((await deps.ledger.listReservations({ tenant, pageSize: 9 })).reservations[0]?.chunked).toBe(
      undefined,
    );
  });

  it('is told what to run if the client does not offer chunks', async () => {
    const { body } = await batch([small, large], { transfers: ['basic'] });
    expect(body.transfer).toBe('basic');
    expect(body.objects.map(({ error }) => error)).toEqual([
      undefined,
      { code: 422, message: expect.stringContaining('Run: lfs-quota connect acme game, then push again.') },
    ]);
  });

  it('needs no basic transfer, as a batch without a large object does', async () => {
    expect((await batch([large], { transfers: ['lfs-quota'] })).body.transfer).toBe('lfs-quota');
    expect((await batch([small], { transfers: ['lfs-quota'] })).statusCode).toBe(422);
  });

  it('is chunked from the setting on', async () => {
    const settings = { ...defaultSettings, chunkedAboveBytes: 59, chunkBytes: 5 * mib };
    const { body } = await batch([small], { settings });
    expect(body.objects[0]?.actions?.upload.href).toContain('/chunks/');
    expect(
      (await batch([small], { settings, transfers: ['basic'] })).body.objects[0]?.actions?.upload.href,
    ).toBe('https://store.example/');
  });

  it('is refused beyond the largest object, or what the deployment takes', async () => {
    const giant = { oid, size: 5_000 * gib + 1 };
    expect((await batch([giant])).body.objects[0]?.error?.message).toContain('File too large');
    const settings = { ...defaultSettings, chunkedBytesMax: 0 };
    for (const transfers of [withChunks, ['basic']])
      expect((await batch([large], { settings, transfers })).body.objects[0]?.error?.message).toContain(
        'The maximum is 5 GiB',
      );
  });

  it('downloads as any other object', async () => {
    objects.put(`${tenant}/${repo}/${oid}`, large.size);
    const { body } = await batch([large], { operation: 'download', transfers: ['basic'] });
    expect(body.objects[0]?.error).toBe(undefined);
  });

  it('is refused over the limit, without a record', async () => {
    const { body } = await batch([{ oid, size: 21 * gib }]);
    expect(body.objects[0]?.error?.code).toBe(507);
    expect(await deps.chunkedUploads.ofObject({ tenant, repo, oid })).toEqual([]);
  });

  it('leaves no record of an upload whose reservation is gone', async () => {
    const issueReservation = async () => 'gone' as const;
    const original = deps;
    deps = { ...deps, ledger: { ...deps.ledger, issueReservation } as Deps['ledger'] };
    Object.setPrototypeOf(deps.ledger, original.ledger);
    expect((await batch([large])).statusCode).toBe(429);
    expect(await original.chunkedUploads.ofObject({ tenant, repo, oid })).toEqual([]);
  });
});

describe('a push that is repeated', () => {
  it('goes on with its upload, and counts no more', async () => {
    const first = await begin();
    clock.advance(23 * 3_600_000);
    const { body } = await batch([large, small]);
    const second = body.objects[0]?.actions?.upload as Action;
    expect(pathOfAction(second)).toEqual(pathOfAction(first));
    expect(second.header).not.toEqual(first.header);
    expect(body.objects[0]?.actions?.verify).toBe(undefined);
    expect((await deps.ledger.readTenant(tenant))?.committedBytes).toBe(large.size + small.size);
    for (const action of [first, second]) expect((await show(action)).body.state).toBe('open');
    // A day after the first token was issued, the second one and the upload live on.
    clock.advance(2 * 3_600_000);
    expect((await show(first)).statusCode).toBe(404);
    expect((await show(second)).body.state).toBe('open');
  });

  it('by somebody else, of another size, or after a week is another upload', async () => {
    const first = pathOfAction(await begin());
    expect(pathOfAction(await begin({ token: ben }))).not.toEqual(first);
    for (let days = 0; days < 7; days += 1) {
      expect(pathOfAction(await begin())).toEqual(first);
      clock.advance(day - 1);
    }
    clock.advance(7);
    expect(pathOfAction(await begin())).not.toEqual(first);
  });

  it('goes on with nothing that was never counted', async () => {
    const path = pathOfAction(await begin());
    await deps.ledger.deleteReservation({ tenant, repo, reservationId: path.upload });
    expect(pathOfAction(await begin())).not.toEqual(path);
  });

  it('is the only one of its maker, also if many begin at once', async () => {
    // Room for all of them, until they are counted as one.
    await deps.ledger.updateTenant({ tenant, settingsVersion: 0, limitBytes: 1_000 * gib });
    const answers = await Promise.all(Array.from({ length: 20 }, () => batch([large])));
    const issued = answers.filter(({ statusCode }) => statusCode === 200).length;
    expect(issued).toBeLessThanOrEqual(1);
    expect((await deps.chunkedUploads.ofObject({ tenant, repo, oid })).length).toBe(issued);
    expect(answers.filter(({ statusCode }) => statusCode === 429).length).toBe(20 - issued);
    expect((await batch([large])).statusCode).toBe(200);
  });

  it.each<[string, (action: Action) => Promise<unknown>]>([
    ['was wrong', (action) => ask(action, { wanted: [{ chunk: 0, sha256: '9'.repeat(64) }] })],
    ['was canceled', (action) => change(action, (before) => inState(before, 'ended', clock.nowMs()))],
    ['was stored and is deleted', (action) => change(action, (before) => inState(before, 'stored', 0))],
    ['is of another size', (action) => change(action, (before) => ({ ...before, sizeBytes: 6 * gib }))],
  ])('begins anew once the chunks of the one that %s are removed, and is told when', async (_, end) => {
    const action = await begin();
    const path = pathOfAction(action);
    await ask(action, { wanted: [{ chunk: 0, sha256 }] });
    await end(action);
    const { body } = await batch([large]);
    const { code, message = '' } = body.objects[0]?.error ?? {};
    expect([code, message]).toEqual([
      409,
      expect.stringMatching(/^Your earlier upload of this file ended, /),
    ]);
    // Others have a claim of their own to go by, and so has what else the maker pushes.
    expect(pathOfAction(await begin({ token: ben }))).not.toEqual(path);
    expect((await batch([small])).body.objects[0]?.error).toBeUndefined();
    await deps.chunkedUploads.remove(path);
    expect(pathOfAction(await begin())).not.toEqual(path);
  });

  it('begins at once if the one that has ended had no URL', async () => {
    const action = await begin();
    await change(action, (before) => inState(before, 'ended', clock.nowMs()));
    expect(pathOfAction(await begin())).not.toEqual(pathOfAction(action));
  });

  it('is one of four by as many makers, whose chunks may be stored', async () => {
    await deps.ledger.updateTenant({ tenant, settingsVersion: 0, limitBytes: 1_000 * gib });
    for (const madeBy of ['a', 'b', 'c', 'd']) {
      const action = await begin();
      await ask(action, { wanted: [{ chunk: 0, sha256 }] });
      await change(action, (before) => ({ ...inState(before, 'wrong', clock.nowMs()), madeBy }));
    }
    expect((await batch([large])).body.objects[0]?.error).toEqual({
      code: 409,
      message: expect.stringContaining('Others are uploading'),
    });
  });
});

describe('a chunked upload', () => {
  it('shows what is stored and proven, of the right size and version alone', async () => {
    const action = await begin();
    const path = pathOfAction(action);
    const states = await proveAll(path, 5);
    objects.putVersion(chunkKey(path, 3), { sizeBytes: 64 * mib, etag: '"other"' });
    objects.putVersion(chunkKey(path, 7), { sizeBytes: 64 * mib, etag: '"7"' });
    objects.putVersion(chunkKey(path, 8), { sizeBytes: 64 * mib - 1, etag: '"8"' });
    objects.putVersion(chunkKey(path, 112), { sizeBytes: 5, etag: '"112"' });
    expect(await show(action)).toEqual({
      statusCode: 200,
      body: {
        state: 'open',
        size: large.size,
        chunkBytes: 64 * mib,
        failure: null,
        stored: [
          [0, 4],
          [7, 7],
          [112, 112],
        ],
        proven: { chunks: 3, sha256State: states[3] },
        unproven: [
          [3, 3],
          [7, 7],
          [112, 112],
        ],
      },
    });
  });

  it('queues proofs, and signs exactly the chunk', async () => {
    const signed: unknown[] = [];
    deps = {
      ...deps,
      signer: {
        ...deps.signer,
        signUpload: async (input) => {
          signed.push(input);
          return { href: 'https://store.example/chunk', header: { 'x-amz-checksum-sha256': 'x' } };
        },
      },
    };
    const action = await begin();
    const path = pathOfAction(action);
    const stateBefore = 'e'.repeat(64);
    const { statusCode, body } = await ask(action, {
      stored: [{ chunk: 3, stateBefore }],
      wanted: [{ chunk: 112, sha256 }],
    });
    expect([statusCode, body]).toEqual([
      200,
      {
        state: 'open',
        urls: [
          {
            chunk: 112,
            href: 'https://store.example/chunk',
            header: { 'x-amz-checksum-sha256': 'x' },
            expires_in: 1800,
          },
        ],
        unproven: 113,
      },
    ]);
    expect(messages).toEqual([{ step: 'prove', ...path, chunk: 3, stateBefore }]);
    const { urlLifetimeMs: lifetimeMs, putGraceMs, clockSkewMs, putMinBytesPerSecond } = defaultSettings;
    const signedAtMs = clock.nowMs();
    expect(signed).toEqual([{ key: chunkKey(path, 112), oid: sha256, sizeBytes: 5, signedAtMs, lifetimeMs }]);
    const longestMs = Math.ceil((64 * mib * 1000) / putMinBytesPerSecond);
    expect((await deps.chunkedUploads.read(path))?.putsUntilMs).toBe(
      signedAtMs + lifetimeMs + putGraceMs + longestMs + 2 * clockSkewMs,
    );
  });

  it('queues its assembly once all is proven, again every 30 s while a client asks', async () => {
    const action = await begin();
    await proveAll(pathOfAction(action));
    const assembled = () => messages.filter(({ step }) => step === 'assemble').length;
    for (const [waitMs, count] of [
      [0, 1],
      [29_999, 1],
      [1, 2],
    ] as const) {
      clock.advance(waitMs);
      expect((await ask(action)).body).toEqual({ state: 'open', urls: [], unproven: 0 });
      expect(assembled()).toBe(count);
    }
    expect((await show(action)).body.proven).toEqual({ chunks: 113, sha256State: null });
  });

  it('is renewed while a client asks, up to a week', async () => {
    const action = await begin();
    const path = pathOfAction(action);
    for (let hours = 0; hours < 20; hours += 5) {
      clock.advance(5 * 3_600_000);
      expect((await ask(action)).statusCode).toBe(200);
    }
    expect((await deps.chunkedUploads.read(path))?.activeUntilMs).toBe(clock.nowMs() + day);
  });

  it('takes one SHA-256 for each chunk: with another one it is wrong', async () => {
    const action = await begin();
    for (let time = 0; time < 2; time += 1)
      expect((await ask(action, { wanted: [{ chunk: 1, sha256 }] })).statusCode).toBe(200);
    const other = await ask(action, { wanted: [{ chunk: 1, sha256: 'e'.repeat(64) }] });
    expect([other.statusCode, other.body.state]).toEqual([200, 'wrong']);
    expect((await show(action)).body.state).toBe('wrong');
    expect((await ask(action, { wanted: [{ chunk: 1, sha256 }] })).body.urls).toEqual([]);
  });

  it('has chunks of its own beside another of the same batch', async () => {
    const { body } = await batch([large, { oid: 'e'.repeat(64), size: 6 * gib }]);
    for (const [at, { oid: each, actions }] of body.objects.entries()) {
      const { href = '', header = {} } = actions?.upload ?? {};
      const path = { ...pathOfAction({ href: href.replace(each, oid), header, expires_in: 0 }), oid: each };
      const wanted = [{ chunk: 1, sha256: `${at}`.repeat(64) }];
      expect(
        (await call('POST', { href, header, expires_in: 0 }, { stored: [], wanted }, path)).body.state,
      ).toBe('open');
    }
    expect(body.objects.length).toBe(2);
  });

  it.each([
    ['stored', 'stored', 0],
    ['wrong', 'wrong', 113],
    ['ended', 'ended', 113],
  ] as const)('that is %s takes no more, and tells so', async (state, shown, unproven) => {
    const action = await begin();
    await deps.chunkedUploads.change(pathOfAction(action), (before) => inState(before, state, clock.nowMs()));
    expect(await ask(action)).toEqual({ statusCode: 200, body: { state: shown, urls: [], unproven } });
    const more = await ask(action, { wanted: [{ chunk: 1, sha256 }] });
    expect(more.body).toEqual({ state: shown, urls: [], unproven });
    expect(messages).toEqual([]);
  });

  it('that is removed while it is asked about has ended: nothing would delete what arrives', async () => {
    const action = await begin();
    const path = pathOfAction(action);
    const { chunkedUploads } = deps;
    const proofs: typeof chunkedUploads.proofs = async (...input) => {
      await chunkedUploads.remove(path);
      return chunkedUploads.proofs(...input);
    };
    deps = { ...deps, chunkedUploads: { ...chunkedUploads, proofs } };
    const stored = [{ chunk: 3, stateBefore: 'e'.repeat(64) }];
    const { body } = await ask(action, { stored, wanted: [{ chunk: 1, sha256 }] });
    expect([body, messages]).toEqual([{ state: 'ended', urls: [], unproven: 113 }, []]);
  });

  it('is open while it is assembled, and takes no other bytes then', async () => {
    const action = await begin();
    await ask(action, { wanted: [{ chunk: 1, sha256 }] });
    const path = pathOfAction(action);
    await deps.chunkedUploads.change(path, (before) => inState(before, 'assembling', clock.nowMs()));
    expect((await show(action)).body.state).toBe('open');
    const other = await ask(action, { wanted: [{ chunk: 1, sha256: 'e'.repeat(64) }] });
    expect(other.body).toMatchObject({ state: 'wrong', urls: [] });
    expect((await deps.chunkedUploads.read(path))?.state).toBe('assembling');
  });

  it('is assembled to its end when its time is over, and gets no more URLs', async () => {
    let action = await begin();
    for (let half = 0; half < 14; half += 1) {
      action = await begin();
      clock.advance(day / 2);
    }
    const path = pathOfAction(action);
    await deps.chunkedUploads.change(path, (before) => inState(before, 'assembling', clock.nowMs()));
    const { statusCode, body } = await ask(action, { wanted: [{ chunk: 1, sha256 }] });
    expect([statusCode, body]).toEqual([200, { state: 'open', urls: [], unproven: 113 }]);
  });

  it.each([
    ['revoked', () => deps.tokens.delete({ tenant, tokenId: tokenIdOf(ada) })],
    ['expired', () => clock.advance(3_600_000)],
  ])('is unknown once the token that began it is %s, and asks nothing of it', async (_, end) => {
    await deps.tokens.delete({ tenant, tokenId: tokenIdOf(ada) });
    await deps.tokens.put(tokenRecord(ada, { tenant, expiresAtMs: clock.nowMs() + 3_600_000 }));
    const action = await begin();
    const path = pathOfAction(action);
    const before = await deps.chunkedUploads.read(path);
    clock.advance(3_599_999);
    expect((await ask(action)).body.state).toBe('open');
    const renewed = await deps.chunkedUploads.read(path);
    expect(renewed?.activeUntilMs).toBeGreaterThan(before?.activeUntilMs ?? 0);
    await end();
    for (const { statusCode, body } of [await show(action), await ask(action)])
      expect([statusCode, body.message]).toEqual([404, expect.stringContaining('Upload not found')]);
    expect(await deps.chunkedUploads.read(path)).toEqual(renewed);
  });

  it("lasts if it was begun by an older version, a CI job or a host's user: there's no token to look up", async () => {
    await deps.tokens.put(tokenRecord(ciToken, { tenant, ruleId: 'a-rule', expiresAtMs: clock.nowMs() + 1 }));
    deps = { ...deps, tokens: createDynamoDbTokenStore(tokenTable, [async () => true]) };
    const of = { older: await begin(), job: await begin({ token: ciToken }) };
    await deps.chunkedUploads.change(pathOfAction(of.older), (before) => ({
      ...before,
      tokens: before.tokens.map(({ sha256, untilMs }) => ({ sha256, untilMs })),
    }));
    for (const tokenId of [ada, ciToken].map(tokenIdOf)) await deps.tokens.delete({ tenant, tokenId });
    for (const action of Object.values(of)) expect((await show(action)).body.state).toBe('open');
    const hostUser = { id: 'github:1', login: 'ada' };
    const caller = { tokenId: hostUser.id, scope: 'write', user: null, label: null } as const;
    expect([lastingTokenId({ ...caller, hostUser }), lastingTokenId(caller)]).toEqual([
      undefined,
      hostUser.id,
    ]);
  });

  it('is unknown with a token of another, without one, or elsewhere', async () => {
    const [first, second] = [await begin(), await begin({ token: ben })];
    for (const header of [second.header, {}, { 'Lfs-Quota-Upload': '' }, { 'Lfs-Quota-Upload': ada }])
      for (const method of ['GET', 'POST'] as const) {
        const { statusCode, body } = await call(method, { ...first, header }, { stored: [], wanted: [] });
        expect([statusCode, body.message]).toEqual([404, expect.stringContaining('Upload not found')]);
      }
    const elsewhere = { ...first, href: first.href.replace(/.{32}$/, 'f'.repeat(32)) };
    expect((await show(elsewhere)).statusCode).toBe(404);
  });

  it.each([
    ['no lists', {}],
    ['a chunk beyond the object', { stored: [], wanted: [{ chunk: 113, sha256 }] }],
    ['a stored chunk beyond the object', { stored: [{ chunk: 113, stateBefore: sha256 }], wanted: [] }],
    ['a number that is none', { stored: [], wanted: [{ chunk: 0.5, sha256 }] }],
    ['a hash that is none', { stored: [], wanted: [{ chunk: 0, sha256: 'x' }] }],
    ['101 chunks', { stored: [], wanted: Array.from({ length: 101 }, (_, chunk) => ({ chunk, sha256 })) }],
  ])('refuses %s', async (_, sent) => {
    const action = await begin();
    const { statusCode, body } = await call('POST', action, sent);
    expect([statusCode, typeof body.message]).toEqual([422, 'string']);
    expect((await deps.chunkedUploads.read(pathOfAction(action)))?.putsUntilMs).toBe(0);
  });
});
