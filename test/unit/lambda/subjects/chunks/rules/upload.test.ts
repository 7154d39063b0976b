import { describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../../../../lambda/core/rules/settings.ts';
import { chunkBytesOf, chunkedMax, isChunked } from '../../../../../../lambda/subjects/chunks/rules/sizes.ts';
import {
  checkChain,
  chunkCountOf,
  chunkKey,
  chunkOfKey,
  crowded,
  dueAtMs,
  initialState,
  inState,
  isOpen,
  newUpload,
  type Proof,
  provenRun,
  putsUntilMs,
  renewed,
  runsOf,
  sizeOfChunk,
  withLease,
  withToken,
} from '../../../../../../lambda/subjects/chunks/rules/upload.ts';

const [mib, gib] = [1024 ** 2, 1024 ** 3];
const hour = 3_600_000;
const nowMs = 1_800_000_000_000;
const oid = 'f'.repeat(64);
const path = { tenant: 'acme', repo: 'game', oid, upload: '0'.repeat(32) };
const uploadOf = (sizeBytes: number) =>
  newUpload(defaultSettings, { ...path, sizeBytes, madeBy: 'ada', nowMs });

describe('the chunks of an object', () => {
  it.each([
    [1, 64 * mib, 1],
    [64 * mib, 64 * mib, 1],
    [64 * mib + 1, 64 * mib, 2],
    [625 * gib, 64 * mib, 10_000],
    [625 * gib + 1, 512 * mib, 1251],
    [5_000 * gib, 512 * mib, 10_000],
  ])('of %d bytes are of %d bytes: %d of them', (sizeBytes, chunkBytes, count) => {
    expect(chunkBytesOf(defaultSettings, sizeBytes)).toBe(chunkBytes);
    const plan = { sizeBytes, chunkBytes };
    expect(chunkCountOf(plan)).toBe(count);
    const lastBytes = sizeOfChunk(plan, count - 1);
    expect((count - 1) * chunkBytes + lastBytes).toBe(sizeBytes);
    expect(lastBytes).toBeGreaterThan(0);
    expect(lastBytes).toBeLessThanOrEqual(chunkBytes);
  });

  it('allow objects up to 5,000 GiB, or of so many chunks, or what a deployment takes', () => {
    expect(chunkedMax(defaultSettings)).toBe(5_000 * gib);
    expect(chunkedMax({ ...defaultSettings, chunkBytes: 5 * mib })).toBe(80_000 * 5 * mib);
    expect(chunkedMax({ ...defaultSettings, chunkBytes: 512 * mib })).toBe(5_000 * gib);
    expect(chunkedMax({ ...defaultSettings, chunkedBytesMax: 0 })).toBe(0);
  });

  it.each([
    [{}, 5 * gib, false],
    [{}, 5 * gib + 1, true],
    [{ chunkedAboveBytes: 10 }, 11, true],
    [{ objectBytesMax: 10 }, 11, true],
    [{ objectBytesMax: 10 }, 10, false],
    [{ chunkedBytesMax: 0, chunkedAboveBytes: 10 }, 11, false],
  ])('are there with %j for %d bytes: %s', (more, sizeBytes, expected) => {
    expect(isChunked({ ...defaultSettings, ...more }, sizeBytes)).toBe(expected);
  });

  it('have keys that no tenant has, and that tell their number', () => {
    const key = chunkKey(path, 42);
    expect(key).toBe(`_parts/acme/game/${oid}/${path.upload}/00042`);
    expect(chunkOfKey(path, key)).toBe(42);
    for (const other of [`${key}0`, key.slice(0, -1), `${key.slice(0, -1)}x`, `x${key.slice(1)}`, `${key}/1`])
      expect(chunkOfKey(path, other)).toBeUndefined();
  });

  it('are told in runs', () => {
    expect(runsOf([])).toEqual([]);
    expect(runsOf([0, 1, 2, 5, 7, 8])).toEqual([
      [0, 2],
      [5, 5],
      [7, 8],
    ]);
  });
});

describe('the time of an upload', () => {
  const upload = uploadOf(gib);

  it('is a day from the last request on, and seven in all', () => {
    expect([isOpen(upload, nowMs + 24 * hour - 1), isOpen(upload, nowMs + 24 * hour)]).toEqual([true, false]);
    const later = renewed(upload, nowMs + 23 * hour);
    expect(isOpen(later, nowMs + 46 * hour)).toBe(true);
    const last = renewed(upload, nowMs + 7 * 24 * hour - 1);
    expect([isOpen(last, nowMs + 7 * 24 * hour - 1), isOpen(last, nowMs + 7 * 24 * hour)]).toEqual([
      true,
      false,
    ]);
    expect(renewed(later, nowMs)).toEqual(later);
  });

  it('is over once it has ended, or is stored', () => {
    for (const state of ['stored', 'wrong', 'ended'] as const)
      expect(isOpen(inState(upload, state, nowMs), nowMs)).toBe(false);
    expect(isOpen(inState(upload, 'assembling', nowMs), nowMs)).toBe(true);
  });

  it('takes one of four places of its object until it is removed, in whatever state', () => {
    const states = ['open', 'wrong', 'ended'] as const;
    const with1Url = { ...upload, putsUntilMs: 1 };
    const others = states.map((state) => ({ ...inState(with1Url, state, nowMs), madeBy: state }));
    const last = { ...inState(with1Url, 'stored', nowMs), madeBy: 'stored' };
    expect(crowded(others, { madeBy: 'me', nowMs })).toBeUndefined();
    expect(crowded([...others, last], { madeBy: 'me', nowMs })).toEqual({ kind: 'busy' });
  });

  it("is in nobody's way if it has ended before a URL of it was signed", () => {
    const { madeBy } = upload;
    const ended = inState(upload, 'ended', nowMs);
    expect(crowded([ended, ended, ended, ended], { madeBy, nowMs })).toBeUndefined();
    expect(crowded([upload], { madeBy, nowMs: nowMs + 8 * 24 * hour })).toBeUndefined();
  });

  it.each(['open', 'assembling', 'stored', 'wrong', 'ended'] as const)(
    'is in the way of the next one of its maker until it is removed: %s',
    (state) => {
      const own = { ...inState(upload, state, nowMs), putsUntilMs: nowMs + hour, leaseUntilMs: nowMs + hour };
      const { madeBy } = own;
      const later = nowMs + 9 * 24 * hour;
      expect(crowded([own], { madeBy, nowMs })).toEqual({
        kind: 'busy',
        ownUntilMs: dueAtMs(own) + 120_000,
      });
      expect(crowded([own], { madeBy, nowMs: later })).toEqual({ kind: 'busy', ownUntilMs: later + 120_000 });
    },
  );

  it('makes it due: to give it up, to go on, or to remove what no PUT can bring back', () => {
    expect(dueAtMs(upload)).toBeGreaterThan(upload.activeUntilMs);
    expect(dueAtMs(withLease(inState(upload, 'assembling', 0), nowMs))).toBe(nowMs + 60_000);
    const ended = inState({ ...upload, putsUntilMs: nowMs + hour }, 'ended', nowMs);
    expect(dueAtMs(ended)).toBe(nowMs + hour);
    expect(dueAtMs({ ...ended, putsUntilMs: 0 })).toBe(nowMs);
  });

  it('lets a PUT that began in time end', () => {
    const { putGraceMs, clockSkewMs } = defaultSettings;
    const untilMs = putsUntilMs({ ...defaultSettings, putMinBytesPerSecond: mib }, upload, nowMs);
    expect(untilMs).toBe(nowMs + putGraceMs + 64_000 + 2 * clockSkewMs);
  });

  it('has eight tokens, the newest', () => {
    let many = upload;
    for (let token = 0; token < 10; token += 1)
      many = withToken(many, { sha256: String(token) }, nowMs + token);
    expect(many.tokens.map(({ sha256 }) => sha256)).toEqual(['2', '3', '4', '5', '6', '7', '8', '9']);
    expect(many.tokens.at(-1)?.untilMs).toBe(nowMs + 9 + 24 * hour);
  });
});

describe('the chain of proofs', () => {
  const plan = { ...uploadOf(200 * mib), chunkBytes: 64 * mib };
  const states = [initialState, 'a'.repeat(64), 'b'.repeat(64), 'c'.repeat(64), oid];
  const chain = (): Proof[] =>
    [0, 1, 2, 3].map((chunk) => ({
      chunk,
      before: states[chunk] ?? '',
      after: states[chunk + 1] ?? '',
      etag: `"${chunk}"`,
      sizeBytes: sizeOfChunk(plan, chunk),
    }));
  const changed = (chunk: number, more: Partial<Proof>) =>
    chain().map((proof) => (proof.chunk === chunk ? { ...proof, ...more } : proof));

  it('is whole if each begins where the one before it ends, from the start to the oid', () => {
    expect(checkChain(plan, chain())).toBe('whole');
    expect(checkChain(plan, chain().reverse())).toBe('whole');
  });

  it.each([
    ['another start', changed(0, { before: 'a'.repeat(64) })],
    ['another end', changed(3, { after: 'e'.repeat(64) })],
    ['a break', changed(2, { before: 'e'.repeat(64) })],
    ['a break that both hints hide', changed(1, { after: 'e'.repeat(64) })],
    [
      'swapped chunks',
      changed(1, { chunk: 2 }).map((proof, at) => (at === 2 ? { ...proof, chunk: 1 } : proof)),
    ],
    ['a chunk of another size', changed(1, { sizeBytes: 64 * mib - 1 })],
    ['a last chunk of another size', changed(3, { sizeBytes: 64 * mib })],
  ])('is wrong with %s', (_, proofs) => {
    expect(checkChain(plan, proofs)).toBe('wrong');
  });

  it.each([0, 1, 3])('misses chunk %d, whatever else is there', (chunk) => {
    const left = chain().filter((proof) => proof.chunk !== chunk);
    expect(checkChain(plan, left)).toBe('missing');
    expect(checkChain(plan, [...left, { ...left[0], chunk: 4 } as Proof])).toBe('missing');
    expect(provenRun(plan, left)).toEqual({ chunks: chunk, state: states[chunk] });
  });

  it('tells how far it goes from the first byte on', () => {
    expect(provenRun(plan, [])).toEqual({ chunks: 0, state: initialState });
    expect(provenRun(plan, changed(2, { before: 'e'.repeat(64) }))).toEqual({ chunks: 2, state: states[2] });
    expect(provenRun(plan, chain())).toEqual({ chunks: 4, state: oid });
  });
});
