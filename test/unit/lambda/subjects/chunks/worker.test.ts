import { createHash, randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { markObject } from '../../../../../lambda/core/ledger/deletes.ts';
import { objectKey } from '../../../../../lambda/core/rules/names.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { NoPartCopyError } from '../../../../../lambda/core/store/rules/archive-store.ts';
import { StoreRefusedError, StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { create } from '../../../../../lambda/subjects/chunks/assemble-handler.ts';
import type { ChunkMessage } from '../../../../../lambda/subjects/chunks/messages.ts';
import {
  type ChunkedUpload,
  chunkCountOf,
  chunkKey,
  claimedForMs,
  dueAtMs,
  initialState,
  inState,
  newUpload,
  type UploadPath,
  withLease,
} from '../../../../../lambda/subjects/chunks/rules/upload.ts';
import { Sha256 } from '../../../../../lambda/subjects/chunks/sha256.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { deliver as deliverTo } from '../../../../support/delivery.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { ManualClock, memoryDeps, recordingJobs, recordingQueue } from '../../../../support/memory/deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const minute = 60_000;
const chunkBytes = 128;
const settings = { ...defaultSettings, chunkBytes };
const timeLimitMs = 15 * minute;
/** Four chunks, the last one of 17 bytes. */
const content = randomBytes(3 * chunkBytes + 17);
const oid = createHash('sha256').update(content).digest('hex');
const place = { tenant: 'acme', repo: 'game', oid };
const key = objectKey(place);

let clock: ManualClock;
let archives: MemoryArchiveStore;
let messages: ChunkMessage[];
let requests: unknown[];
let deps: Deps;
let log: ReturnType<typeof recordingLog>;

beforeEach(async () => {
  clock = new ManualClock();
  archives = new MemoryArchiveStore({ limits: { partBytesMin: 64, wantsEqualParts: true } });
  log = recordingLog();
  const [chunks, reconciles] = [recordingJobs<ChunkMessage>(), recordingQueue()];
  [messages, requests] = [chunks.messages, reconciles.requests];
  deps = memoryDeps({
    clock,
    archives,
    objects: archives.objects,
    settings,
    log: log.log,
    chunkQueue: chunks.queue,
    queue: reconciles.queue,
  });
});

const idOf = (name: string) => createHash('md5').update(name).digest('hex');

/** An issued reservation with a chunked upload, whose URLs end in half an hour. */
async function begin(name = 'first'): Promise<ChunkedUpload> {
  const [upload, nowMs] = [idOf(name), clock.nowMs()];
  const entries = new Map([[oid, content.length]]);
  const reservation = { tenant: place.tenant, repo: place.repo, reservationId: upload };
  await deps.ledger.putReservation({
    tenant: place.tenant,
    reservation: {
      id: upload,
      repo: place.repo,
      state: 'pending',
      entries,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + 31 * minute,
      lapsedAtMs: nowMs + 40 * minute,
      lookAtMs: null,
    },
  });
  const chunked = { oids: [oid], untilMs: nowMs + claimedForMs };
  await deps.ledger.issueReservation({ ...reservation, entries, chunked });
  const made = newUpload(settings, { ...place, upload, sizeBytes: content.length, madeBy: 'ada', nowMs });
  const record = { ...made, putsUntilMs: nowMs + 45 * minute };
  await deps.chunkedUploads.put(record);
  return record;
}

const bytesOf = (chunk: number, bytes: Uint8Array = content) =>
  bytes.subarray(chunk * chunkBytes, (chunk + 1) * chunkBytes);

/** The states before each chunk, as an honest client computes them. */
async function statesOf(bytes: Uint8Array): Promise<string[]> {
  const hash = await Sha256.create();
  const states = [initialState];
  for (let chunk = 0; (chunk + 1) * chunkBytes < bytes.length; chunk += 1) {
    hash.update(bytesOf(chunk, bytes));
    states.push(hash.state());
  }
  return states;
}

async function storeChunks(path: UploadPath, bytes: Uint8Array = content) {
  for (let chunk = 0; chunk * chunkBytes < bytes.length; chunk += 1)
    await archives.put(chunkKey(path, chunk), bytesOf(chunk, bytes));
}

/** The messages for all chunks, in the worst order. */
async function proofsOf(
  { tenant, repo, upload }: UploadPath,
  bytes: Uint8Array = content,
): Promise<ChunkMessage[]> {
  const states = await statesOf(bytes);
  return states
    .map((stateBefore, chunk) => ({
      step: 'prove' as const,
      tenant,
      repo,
      oid,
      upload,
      chunk,
      stateBefore,
    }))
    .reverse();
}

const stepOf = (step: 'assemble' | 'tidy', { tenant, repo, upload }: UploadPath): ChunkMessage => ({
  step,
  tenant,
  repo,
  oid,
  upload,
});

/** Delivers one message. @returns whether it was taken. */
async function deliver(message: ChunkMessage, by: Deps = deps): Promise<boolean> {
  return (await deliverTo(create(by), message, { leftMs: timeLimitMs })).isDone;
}

/** Stores and proves all chunks of a new upload. */
async function proven(name?: string, bytes: Uint8Array = content): Promise<ChunkedUpload> {
  const upload = await begin(name);
  await storeChunks(upload, bytes);
  for (const message of await proofsOf(upload, bytes)) expect(await deliver(message)).toBe(true);
  return upload;
}

const outcomes = () => log.entries.map(({ fields }) => (fields as { outcome?: string }).outcome);
const stateOf = async (path: UploadPath) => (await deps.chunkedUploads.read(path))?.state;
const stored = async () => archives.get(key);
const keysLeft = () => archives.inventory().filter((line) => line.startsWith('_parts/'));
const reservationOf = ({ tenant, repo, upload: reservationId }: UploadPath) =>
  deps.ledger.readReservation({ tenant, repo, reservationId });

/** Lets the time come at which what is left of an upload can go, and removes it. */
async function tidy(path: UploadPath) {
  const upload = await deps.chunkedUploads.read(path);
  if (upload) clock.advance(Math.max(0, dueAtMs(upload) - clock.nowMs()) + 1);
  expect(await deliver(stepOf('tidy', path))).toBe(true);
}

/**
 * Nothing of an upload is left, but perhaps the object. A worker that dies before it knows the id of a multipart upload
 * leaves one without parts: the bucket's lifecycle removes it.
 */
async function expectNothingLeft(path: UploadPath) {
  expect([keysLeft(), archives.openUploads.filter(({ parts }) => parts > 0)]).toEqual([[], []]);
  expect(await deps.chunkedUploads.read(path)).toBeUndefined();
  expect(await deps.chunkedUploads.proofs(path)).toEqual([]);
  expect((await reservationOf(path))?.chunked).toBeUndefined();
}

describe('a storage class', () => {
  it.each([undefined, 'STANDARD_IA'])('of the upload is that of its object: %s', async (storageClass) => {
    const upload = await begin();
    await deps.chunkedUploads.change(upload, (own) => ({ ...own, storageClass }));
    await storeChunks(upload);
    const createUpload = vi.spyOn(archives, 'createUpload');
    for (const message of await proofsOf(upload)) await deliver(message);
    await deliver(stepOf('assemble', upload));
    expect(createUpload.mock.calls).toEqual([[key, { storageClass }]]);
    expect(await stateOf(upload)).toBe('stored');
  });

  it('is none if the operator removed it since', async () => {
    const upload = await begin();
    await deps.chunkedUploads.change(upload, (own) => ({ ...own, storageClass: 'STANDARD_IA' }));
    deps = { ...deps, storageClasses: ['STANDARD'] };
    const createUpload = vi.spyOn(archives, 'createUpload');
    await storeChunks(upload);
    for (const message of await proofsOf(upload)) await deliver(message);
    await deliver(stepOf('assemble', upload));
    expect(createUpload.mock.calls).toEqual([[key, { storageClass: undefined }]]);
    expect(await stateOf(upload)).toBe('stored');
  });
});

describe('a chunk', () => {
  it('is proven by what its bytes make of the state before it, and its last one by the whole', async () => {
    const upload = await proven();
    const states = [...(await statesOf(content)), oid];
    const proofs = await deps.chunkedUploads.proofs(upload);
    expect(proofs.map(({ chunk, before, after }) => [chunk, before, after])).toEqual(
      states.slice(0, -1).map((before, chunk) => [chunk, before, states[chunk + 1]]),
    );
  });

  it('is copied when it is proven, once the first one has begun the object', async () => {
    const upload = await begin();
    await storeChunks(upload);
    const [last, ...before] = await proofsOf(upload);
    for (const message of [last, ...before.reverse()]) if (message) await deliver(message);
    const [multipart] = archives.openUploads;
    expect([archives.count('createUpload'), multipart?.parts]).toEqual([1, 3]);
    await deliver(stepOf('assemble', upload));
    expect([await stored(), archives.count('createUpload'), archives.count('copyPart')]).toEqual([
      Uint8Array.from(content),
      1,
      4,
    ]);
  });

  it.each([
    ['is given up', (now: ChunkedUpload) => inState(now, 'ended', clock.nowMs())],
    [
      'has got one from another worker',
      (now: ChunkedUpload) => ({ ...now, multipart: { id: 'other', beganAtMs: clock.nowMs() } }),
    ],
  ])('begins no multipart upload of an object that %s meanwhile', async (_, changeOf) => {
    const upload = await begin();
    await storeChunks(upload);
    archives.after = async ({ name }) => {
      if (name === 'createUpload') await deps.chunkedUploads.change(upload, changeOf);
    };
    const first = (await proofsOf(upload)).at(-1);
    if (first) expect(await deliver(first)).toBe(true);
    expect([outcomes(), archives.openUploads, archives.count('copyPart')]).toEqual([['proven'], [], 0]);
  });

  it('is not copied into what the store would date wrongly, nor into what is gone', async () => {
    const upload = await begin();
    await storeChunks(upload);
    const [first, ...others] = (await proofsOf(upload)).reverse();
    if (first) await deliver(first);
    clock.advance(settings.putGraceMs + minute);
    for (const message of others.slice(0, 1)) await deliver(message);
    expect(archives.count('copyPart')).toBe(1);
    clock.advance(-settings.putGraceMs);
    for (const multipart of archives.openUploads) await archives.abort(multipart);
    for (const message of others.slice(1)) await deliver(message);
    expect([outcomes(), archives.count('copyPart')]).toEqual([Array(4).fill('proven'), 3]);
    await deliver(stepOf('assemble', upload));
    expect(await stored()).toEqual(Uint8Array.from(content));
  });

  it('lets others have their turn while it is hashed', async () => {
    const bytes = Buffer.alloc(16 * 1024 ** 2);
    const upload = { ...(await begin()), sizeBytes: bytes.length, chunkBytes: bytes.length };
    await deps.chunkedUploads.change(upload, () => upload);
    await archives.put(chunkKey(upload, 0), bytes);
    let turns = 0;
    const count = () => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const turnsAtReads: number[] = [];
    archives.before = ({ name }) => {
      if (name === 'readInto') turnsAtReads.push(turns);
    };
    for (const message of (await proofsOf(upload)).slice(-1)) await deliver(message);
    clearImmediate(next);
    const [first = 0, second = 0] = turnsAtReads;
    expect([outcomes(), turnsAtReads.length, second - first >= 7]).toEqual([['proven'], 2, true]);
  });

  it.each(['createUpload', 'copyPart'])('is proven though the store refuses %s now', async (name) => {
    archives.before = (call) => {
      if (call.name === name) throw new StoreRefusedError('It has 1000 unfinished uploads.');
    };
    const upload = await proven();
    expect(outcomes()).toEqual(Array(4).fill('proven'));
    archives.before = () => undefined;
    await deliver(stepOf('assemble', upload));
    expect(await stored()).toEqual(Uint8Array.from(content));
  });

  it('that can not be read says why, unless a retry can help', async () => {
    const upload = await begin();
    await storeChunks(upload);
    const [message] = await proofsOf(upload);
    if (!message) throw new Error('There is no message.');
    const failure = async () => (await deps.chunkedUploads.read(upload))?.failure;
    let error: Error = new StoreUnavailableError('The store did not serve GetObject (503 SlowDown).');
    archives.before = ({ name }) => {
      if (name === 'readInto') throw error;
    };
    expect([await deliver(message), await failure()]).toEqual([false, undefined]);
    error = new StoreRefusedError('The store rejected GetObject with 403 AccessDenied: check the key.');
    for (const _ of [1, 2]) {
      expect(await deliver(message)).toBe(false);
      expect(await failure()).toBe('The store rejected GetObject with 403 AccessDenied');
    }
  });

  it('is read and uploaded where the store copies no parts, one at a time', async () => {
    let atOnce = 0;
    archives.before = ({ name }) => {
      if (name === 'copyPart') throw new NoPartCopyError('The store copies no parts.');
      if (name === 'readInto') atOnce += 1;
      expect(atOnce).toBeLessThanOrEqual(1);
    };
    archives.after = ({ name }) => {
      if (name === 'readInto' && outcomes().length < 4) atOnce -= 1;
      if (name === 'uploadPart') atOnce -= 1;
    };
    const upload = await proven();
    expect(outcomes()).toEqual(Array(4).fill('proven'));
    await deliver(stepOf('assemble', upload));
    expect([await stored(), archives.count('uploadPart')]).toEqual([Uint8Array.from(content), 4]);
  });

  it('is read once, however often its message comes', async () => {
    const upload = await proven();
    const reads = archives.count('readInto');
    for (const message of await proofsOf(upload)) await deliver(message);
    expect([archives.count('readInto'), outcomes().slice(-4)]).toEqual([reads, Array(4).fill('known')]);
  });

  it('is not proven unless it is there, whole, and wanted', async () => {
    const upload = await begin();
    const all = await proofsOf(upload);
    const [last] = all;
    if (last?.step !== 'prove') throw new Error('No message.');
    await deliver(last);
    await archives.put(chunkKey(upload, 3), Buffer.from('short'));
    await deliver(last);
    await deliver({ ...last, chunk: chunkCountOf(upload) });
    await deliver({ ...last, upload: idOf('other') });
    expect(outcomes()).toEqual(['absent', 'absent', 'unwanted', 'unwanted']);
    expect(await deps.chunkedUploads.proofs(upload)).toEqual([]);
  });

  it('begins in the first state if it is the first, whatever the client says', async () => {
    const upload = await begin();
    await storeChunks(upload);
    const first = (await proofsOf(upload)).at(-1);
    if (first?.step !== 'prove') throw new Error('No message.');
    await deliver({ ...first, stateBefore: 'f'.repeat(64) });
    expect(await deps.chunkedUploads.readProof(upload, 0)).toMatchObject({ before: initialState });
  });

  it('that is replaced while it is read has no proof', async () => {
    const upload = await begin();
    await storeChunks(upload);
    archives.before = ({ name }) => {
      if (name === 'readInto')
        archives.objects.putVersion(chunkKey(upload, 3), { sizeBytes: 17, etag: '"x"' });
    };
    const [last] = await proofsOf(upload);
    if (last) await deliver(last);
    expect(outcomes()).toEqual(['absent']);
  });
});

describe('an object', () => {
  it('is made of its chunks, these go and the claim of the upload ends, and late chunks go with its record', async () => {
    const upload = await proven();
    await deliver(stepOf('assemble', upload));
    expect(await stored()).toEqual(Uint8Array.from(content));
    expect([await stateOf(upload), keysLeft(), archives.openUploads]).toEqual(['stored', [], []]);
    expect(requests).toEqual([{ tenant: 'acme', reason: 'upload', full: false }]);
    // A URL may still store a chunk.
    await deliver(stepOf('tidy', upload));
    expect(outcomes().at(-1)).toBe('early');
    await archives.put(chunkKey(upload, 1), bytesOf(1));
    // Until then the client can verify it, and not for the days that it may have taken.
    expect(await reservationOf(upload)).toMatchObject({ lapsedAtMs: upload.putsUntilMs });
    const deletion = await markObject(deps, { ...place, dryRun: true });
    expect(deletion).toMatchObject({ dueAtMs: clock.nowMs() + settings.deleteGraceMs, waitsFor: null });
    await tidy(upload);
    await expectNothingLeft(upload);
    // As that of any object that has arrived.
    expect((await reservationOf(upload))?.entries).toEqual(new Map([[oid, content.length]]));
    await deliver(stepOf('tidy', upload));
    await deliver(stepOf('assemble', upload));
    expect(outcomes().slice(-2)).toEqual(['unwanted', 'unwanted']);
  });

  it('is made by the next attempt if a late proof copies a chunk anew, which some stores give another ETag', async () => {
    const upload = await proven();
    vi.spyOn(archives, 'parts').mockImplementationOnce(async function* () {
      yield [{ number: 1, sizeBytes: chunkBytes, etag: '"of the earlier copy"' }];
    });
    expect(await deliver(stepOf('assemble', upload))).toBe(false);
    expect([await stateOf(upload), await stored()]).toEqual(['open', undefined]);
    expect(await deliver(stepOf('assemble', upload))).toBe(true);
    expect([await stored(), archives.openUploads]).toEqual([Uint8Array.from(content), []]);
  });

  it('waits for all proofs', async () => {
    const upload = await proven();
    const { etag = '' } = (await deps.chunkedUploads.readProof(upload, 2)) ?? {};
    await deps.chunkedUploads.deleteProof(upload, { chunk: 2, etag });
    await deliver(stepOf('assemble', upload));
    expect([outcomes().at(-1), await stateOf(upload), archives.count('complete')]).toEqual([
      'unproven',
      'open',
      0,
    ]);
  });

  const other = Buffer.from(content);
  other[chunkBytes + 5] = (other[chunkBytes + 5] ?? 0) ^ 1;
  const lies: Record<string, (upload: ChunkedUpload) => Promise<void>> = {
    'a state before a chunk that is not the one after the chunk before it': async (upload) => {
      await storeChunks(upload);
      for (const message of await proofsOf(upload))
        await deliver(
          message.step === 'prove' && message.chunk === 2 ? { ...message, stateBefore: oid } : message,
        );
    },
    'other bytes, with the states of the right ones': async (upload) => {
      await storeChunks(upload, other);
      for (const message of await proofsOf(upload)) await deliver(message);
    },
    'other bytes, with their states': async (upload) => {
      await storeChunks(upload, other);
      for (const message of await proofsOf(upload, other)) await deliver(message);
    },
    'chunks that were swapped': async (upload) => {
      await storeChunks(upload);
      await archives.put(chunkKey(upload, 1), bytesOf(2));
      await archives.put(chunkKey(upload, 2), bytesOf(1));
      for (const message of await proofsOf(upload)) await deliver(message);
    },
  };
  it.each(Object.entries(lies))('is never made of %s', async (_, lie) => {
    const upload = await begin();
    await lie(upload);
    await deliver(stepOf('assemble', upload));
    expect([await stateOf(upload), await stored(), archives.count('complete')]).toEqual([
      'wrong',
      undefined,
      0,
    ]);
    await tidy(upload);
    await expectNothingLeft(upload);
    expect((await reservationOf(upload))?.entries.size).toBe(0);
  });

  it.each(['replaced', 'gone'])(
    'is not made of a chunk that is %s since its proof, until that is proven again',
    async (how) => {
      const upload = await proven();
      if (how === 'gone') await archives.delete([chunkKey(upload, 1)]);
      else archives.objects.putVersion(chunkKey(upload, 1), { sizeBytes: chunkBytes, etag: '"other"' });
      await deliver(stepOf('assemble', upload));
      expect([outcomes().at(-1), await stateOf(upload), await stored()]).toEqual([
        'unproven',
        'open',
        undefined,
      ]);
      expect(await deps.chunkedUploads.readProof(upload, 1)).toBeUndefined();
      await storeChunks(upload);
      for (const message of await proofsOf(upload)) await deliver(message);
      await deliver(stepOf('assemble', upload));
      expect(await stored()).toEqual(Uint8Array.from(content));
      await tidy(upload);
      await expectNothingLeft(upload);
    },
  );

  it('is made once of two uploads, at the same time too', async () => {
    const uploads = [await proven('first'), await proven('second')] as const;
    await Promise.all(uploads.map((upload) => deliver(stepOf('assemble', upload))));
    for (const upload of uploads) await deliver(stepOf('assemble', upload));
    expect(await Promise.all(uploads.map(stateOf))).toEqual(['stored', 'stored']);
    expect(await stored()).toEqual(Uint8Array.from(content));
    for (const upload of uploads) await tidy(upload);
    for (const upload of uploads) await expectNothingLeft(upload);
  });

  it('that comes to be by another PUT is left as it is', async () => {
    const upload = await proven();
    archives.before = ({ name }) => {
      if (name === 'complete') archives.objects.putVersion(key, { sizeBytes: content.length, etag: '"put"' });
    };
    await deliver(stepOf('assemble', upload));
    expect([await stateOf(upload), archives.openUploads]).toEqual(['stored', []]);
    expect(await archives.head(key)).toMatchObject({ etag: '"put"' });
  });

  it('is not made over something of another size', async () => {
    const upload = await proven();
    await archives.put(key, Buffer.from('something'));
    await deliver(stepOf('assemble', upload));
    expect([await stateOf(upload), await stored()]).toEqual([
      'ended',
      Uint8Array.from(Buffer.from('something')),
    ]);
  });

  it.each(['canceled', 'expired'])('is not made once its reservation is %s', async (how) => {
    const upload = await proven();
    if (how === 'expired') clock.advance(claimedForMs + 1);
    else {
      const { tenant, repo } = place;
      await deps.ledger.deleteReservation({ tenant, repo, reservationId: upload.upload });
    }
    await deliver(stepOf('assemble', upload));
    expect([await stateOf(upload), await stored()]).toEqual(['ended', undefined]);
    await tidy(upload);
    await expectNothingLeft(upload);
  });

  it('goes on after a failure of the store, and copies nothing twice', async () => {
    const upload = await proven();
    archives.before = ({ name }) => {
      if (name === 'complete') throw new StoreUnavailableError('503');
    };
    expect(await deliver(stepOf('assemble', upload))).toBe(false);
    expect([await stateOf(upload), archives.count('copyPart')]).toEqual(['open', 4]);
    archives.before = () => undefined;
    expect(await deliver(stepOf('assemble', upload))).toBe(true);
    expect([await stateOf(upload), archives.count('copyPart')]).toEqual(['stored', 4]);
  });

  it('begins anew if an earlier attempt was so long ago that the store would date it wrongly', async () => {
    const upload = await proven();
    archives.before = ({ name }) => {
      if (name === 'complete') throw new StoreUnavailableError('503');
    };
    await deliver(stepOf('assemble', upload));
    archives.before = () => undefined;
    clock.advance(settings.putGraceMs + minute);
    await deliver(stepOf('assemble', upload));
    expect([archives.count('createUpload'), archives.count('copyPart'), archives.openUploads]).toEqual([
      2,
      8,
      [],
    ]);
  });

  it('is there if the answer that it was made is lost', async () => {
    const upload = await proven();
    archives.after = ({ name }) => {
      if (name === 'complete') throw new StoreUnavailableError('No answer.');
    };
    expect(await deliver(stepOf('assemble', upload))).toBe(false);
    expect(await deliver(stepOf('assemble', upload))).toBe(true);
    expect([await stateOf(upload), archives.count('complete')]).toEqual(['stored', 1]);
  });

  it('that takes longer than a run goes on in the next', async () => {
    const upload = await proven();
    const patient = { ...deps, settings: { ...settings, putGraceMs: 60 * minute } };
    archives.before = ({ name }) => {
      if (name === 'copyPart' && archives.count('copyPart') === 2) clock.advance(timeLimitMs);
    };
    await deliver(stepOf('assemble', upload), patient);
    expect([outcomes().at(-1), await stateOf(upload), archives.count('copyPart')]).toEqual([
      'unfinished',
      'open',
      2,
    ]);
    expect(messages).toEqual([stepOf('assemble', upload)]);
    for (const message of messages) await deliver(message, patient);
    expect([await stateOf(upload), archives.count('copyPart')]).toEqual(['stored', 4]);
    expect(await stored()).toEqual(Uint8Array.from(content));
  });

  it('is made by one worker at a time, and by another if that one has died', async () => {
    const upload = await proven();
    await deps.chunkedUploads.change(upload, (now) =>
      withLease(inState(now, 'assembling', clock.nowMs()), clock.nowMs()),
    );
    clock.advance(minute - 1);
    for (const step of ['assemble', 'tidy'] as const) await deliver(stepOf(step, upload));
    expect([outcomes().slice(-2), messages, await stored()]).toEqual([['busy', 'early'], [], undefined]);
    clock.advance(1);
    await deliver(stepOf('tidy', upload));
    expect([outcomes().at(-1), messages]).toEqual(['reassembled', [stepOf('assemble', upload)]]);
    await deliver(stepOf('assemble', upload));
    expect(await stateOf(upload)).toBe('stored');
  });

  it('is given up, and not gone on with, if its worker dies when the upload may not be open any more', async () => {
    const upload = await proven();
    await deps.chunkedUploads.change(upload, (now) =>
      withLease(inState(now, 'assembling', clock.nowMs()), clock.nowMs()),
    );
    clock.advance(upload.activeUntilMs - clock.nowMs());
    await deliver(stepOf('tidy', upload));
    expect([outcomes().at(-1), messages]).toEqual(['removed', []]);
    await expectNothingLeft(upload);
  });

  it('is made by one worker for as long as that copies', async () => {
    const upload = await proven();
    const slow = new Set(['parts', 'copyPart', 'complete']);
    archives.before = async ({ name }) => {
      if (!slow.delete(name)) return;
      clock.advance(35_000);
      await deliver(stepOf('assemble', upload));
    };
    await deliver(stepOf('assemble', upload));
    expect(outcomes()).toEqual([...Array(4).fill('proven'), 'busy', 'busy', 'busy', 'stored']);
    expect([archives.count('copyPart'), archives.count('complete')]).toEqual([4, 1]);
  });

  it('is made by one worker for as long as the store puts the copies together', async () => {
    const upload = await proven();
    archives.before = async ({ name }) => {
      if (name !== 'complete') return;
      archives.before = () => undefined;
      clock.advance(minute);
      await deliver(stepOf('assemble', upload));
    };
    await deliver(stepOf('assemble', upload));
    expect(outcomes().slice(-2)).toEqual(['busy', 'stored']);
  });

  it.each(['ends', 'is taken over'])('is not made by a worker any more once its upload %s', async (how) => {
    const upload = await proven();
    archives.before = async ({ name }) => {
      if (name !== 'copyPart') return;
      archives.before = () => undefined;
      if (how === 'ends')
        await deps.chunkedUploads.change(upload, (now) => inState(now, 'ended', clock.nowMs()));
      clock.advance(minute);
      if (how !== 'ends') await deliver(stepOf('assemble', upload));
    };
    await deliver(stepOf('assemble', upload));
    // Whoever took over goes on with what was copied, and the object is made once.
    const made = how === 'ends' ? ['ended', undefined, 0] : ['stored', Uint8Array.from(content), 1];
    expect([await stateOf(upload), await stored(), archives.count('complete')]).toEqual(made);
    expect([outcomes().includes('busy'), archives.count('createUpload')]).toEqual([how === 'ends', 1]);
    await tidy(upload);
    await expectNothingLeft(upload);
  });
});

describe('an upload that no client asks about', () => {
  it('is given up after a day, its chunks go before its claim, and both before its record', async () => {
    const upload = await proven();
    await deliver(stepOf('tidy', upload));
    expect([outcomes().at(-1), await stateOf(upload)]).toEqual(['early', 'open']);
    clock.advance(dueAtMs(upload) - clock.nowMs());
    await deps.chunkedUploads.change(upload, (now) => ({ ...now, putsUntilMs: clock.nowMs() + minute }));
    await deliver(stepOf('tidy', upload));
    expect([await stateOf(upload), keysLeft().length]).toEqual(['ended', 4]);
    archives.before = ({ name }) => {
      if (name === 'delete') throw new StoreUnavailableError('503');
    };
    clock.advance(minute);
    expect(await deliver(stepOf('tidy', upload))).toBe(false);
    expect((await reservationOf(upload))?.chunked).toEqual(new Set([oid]));
    archives.before = () => undefined;
    await tidy(upload);
    await expectNothingLeft(upload);
    expect((await reservationOf(upload))?.entries.size).toBe(0);
  });

  it('keeps its entry if the object is there: an attempt whose answer was lost has made it', async () => {
    const upload = await proven();
    archives.after = ({ name }) => {
      if (name === 'complete') throw new StoreUnavailableError('No answer.');
    };
    await deliver(stepOf('assemble', upload));
    clock.advance(dueAtMs(upload) - clock.nowMs());
    await deliver(stepOf('tidy', upload));
    await tidy(upload);
    await expectNothingLeft(upload);
    expect((await reservationOf(upload))?.entries.size).toBe(1);
    expect(requests).toEqual([{ tenant: 'acme', reason: 'upload', full: false }]);
  });
});

it('of an upload that is removed, an object that comes to be after the look at it is still counted', async () => {
  const upload = await proven();
  archives.before = ({ name }) => {
    if (name === 'complete') throw new StoreUnavailableError('No answer yet.');
  };
  await deliver(stepOf('assemble', upload));
  archives.after = ({ name }) => {
    if (name === 'head') archives.objects.putVersion(key, { sizeBytes: content.length, etag: '"late"' });
  };
  clock.advance(dueAtMs(upload) - clock.nowMs());
  await deliver(stepOf('tidy', upload));
  expect([outcomes().at(-1), await deps.chunkedUploads.read(upload)]).toEqual(['removed', undefined]);
  expect(await archives.head(key)).toMatchObject({ etag: '"late"' });
  expect((await reservationOf(upload))?.entries.size).toBe(1);
});

/** Dependencies of a worker that dies at its nth call: nothing that it calls then, or later, is done or answered. */
function dying(at: number, when: 'before' | 'after') {
  let calls = 0;
  const gate = async <T>(run: () => T | Promise<T>): Promise<T> => {
    calls += 1;
    if (calls > at || (calls === at && when === 'before')) throw new Error('Dead.');
    const done = await run();
    if (calls >= at) throw new Error('Dead.');
    return done;
  };
  const guarded = <T extends object>(object: T): T =>
    new Proxy(object, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...input: unknown[]) => {
          const call = () => Reflect.apply(member, target, input) as unknown;
          if (name !== 'list' && name !== 'parts') return gate(call);
          return (async function* () {
            yield* (await gate(call)) as AsyncIterable<unknown>;
          })();
        };
      },
    });
  const by: Deps = {
    ...deps,
    archives: guarded(deps.archives),
    chunkedUploads: guarded(deps.chunkedUploads),
    ledger: guarded(deps.ledger),
    queue: guarded(deps.queue),
    chunkQueue: guarded(deps.chunkQueue),
  };
  return { by, hasDied: () => calls >= at };
}

describe.each(['before', 'after'] as const)('a worker that dies %s any call', (when) => {
  it('leaves nothing that another does not bring to the same end', async () => {
    for (let at = 1, hasDied = true; hasDied; at += 1) {
      const upload = await begin(`upload ${at}`);
      await storeChunks(upload);
      const worker = dying(at, when);
      const [last, ...proofs] = await proofsOf(upload);
      // The first chunk, which begins the object, is neither the first nor the last one to be proven.
      const steps = [
        ...[last, ...proofs.slice(-1), ...proofs.slice(0, -1)].filter(Boolean),
        stepOf('assemble', upload),
      ] as ChunkMessage[];
      for (const message of steps) await deliver(message, worker.by);
      hasDied = worker.hasDied();
      // Messages come again, the client reports and asks again, and the schedule wakes what is due.
      for (const message of steps.slice(0, -1)) expect(await deliver(message)).toBe(true);
      if ((await stateOf(upload)) === 'assembling') clock.advance(2 * minute);
      await deliver(stepOf('assemble', upload));
      expect([at, await stateOf(upload), await stored()]).toEqual([at, 'stored', Uint8Array.from(content)]);
      // And one that dies while it tidies up.
      const record = await deps.chunkedUploads.read(upload);
      clock.advance(Math.max(0, dueAtMs(record ?? upload) - clock.nowMs()) + 1);
      await deliver(stepOf('tidy', upload), dying(at, when).by);
      await deliver(stepOf('tidy', upload));
      await expectNothingLeft(upload);
      await archives.delete([key]);
    }
  });
});
