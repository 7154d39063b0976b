import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CliError } from '../../../../cli/errors.ts';
import type { LfsRepo } from '../../../../cli/lfs-batch.ts';
import { relay, repoSource, type Source } from '../../../../cli/move/relay.ts';
import { TransferError } from '../../../../cli/transfer.ts';
import { OtherServer } from '../other-server.ts';

const oidOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const contents = ['one', 'two', 'three'].map((text) => Buffer.alloc(10_000, text));
const objects = contents.map((bytes) => ({ oid: oidOf(bytes), sizeBytes: bytes.length }));
const totalBytes = 30_000;

let target: OtherServer;
let requests: string[];
let sleeps: number[];
/** What was told of the progress, summed up after each time. */
let shown: number[];

beforeEach(async () => {
  [requests, sleeps, shown] = [[], [], [0]];
  target = await new OtherServer().start();
  target.onRequest = (what) => void requests.push(what);
});
afterEach(() => target.close());

const repoAt = (server: OtherServer): LfsRepo => ({
  async batch(body) {
    const url = `${server.url}/acme/game.git/info/lfs/objects/batch`;
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
    return { status: response.status, body: await response.json().catch(() => undefined) };
  },
  refusal: (operation, { status }) =>
    new CliError(`${operation} ${status}`, { hint: 'Wait.', failure: 'refused' }),
});

/** Has each object, with the pieces that `piecesOf` says for each time it is opened, from 1. */
function sourceOf(piecesOf: (bytes: Buffer, attempt: number) => Iterable<Uint8Array>): Source {
  const opened = new Map<string, number>();
  return {
    offers: async (_, asked) =>
      new Map(
        asked.map(({ oid }) => {
          const open = async () => {
            const attempt = (opened.get(oid) ?? 0) + 1;
            opened.set(oid, attempt);
            const bytes = contents.find((each) => oidOf(each) === oid) ?? Buffer.alloc(0);
            return ReadableStream.from(piecesOf(bytes, attempt));
          };
          return [oid, { kind: 'found', open }] as const;
        }),
      ),
  };
}

function run(from: Source) {
  const stop = new AbortController().signal;
  const sleep = async (durationMs: number) => void sleeps.push(durationMs);
  const onBytes = (bytes: number) => void shown.push((shown.at(-1) ?? 0) + bytes);
  return relay({ stop, sleep }, { from, to: repoAt(target), objects, onBytes, say: () => {} });
}

const puts = () => requests.filter((what) => what.startsWith('PUT'));
const inThirds = (bytes: Buffer) => [
  bytes.subarray(0, 4_000),
  bytes.subarray(4_000, 8_000),
  bytes.subarray(8_000),
];

it('copies all, tells the target of each, and what is there of none', async () => {
  const source = await new OtherServer().start();
  source.store(...contents);
  target.store(...contents.slice(0, 1));
  const relayed = await run(repoSource(repoAt(source)));
  expect([relayed.copied.length, relayed.present.length, relayed.full]).toEqual([2, 1, undefined]);
  expect([...target.objects.keys()].sort()).toEqual(objects.map(({ oid }) => oid).sort());
  expect(target.verified).toHaveLength(2);
  expect(shown.at(-1)).toBe(totalBytes);
  await source.close();
});

describe('a target that rejects uploads', () => {
  const rejectWith = (code: number) => {
    target.batchOf = (answers) => ({
      objects: answers.map((answer) =>
        'actions' in answer ? { ...answer, actions: undefined, error: { code, message: 'No.' } } : answer,
      ),
    });
  };

  it.each([507, 509])(
    'is full if it says %i: nothing more is sent, and no object has failed',
    async (code) => {
      rejectWith(code);
      const relayed = await run(sourceOf(inThirds));
      expect(relayed).toMatchObject({ full: `No. (${code})`, failed: [], copied: [] });
      expect(puts()).toEqual([]);
    },
  );

  it.each([403, 413, 422])('is not full if it says %i: each object has failed with that', async (code) => {
    rejectWith(code);
    const relayed = await run(sourceOf(inThirds));
    expect(relayed.full).toBeUndefined();
    expect(relayed.failed.map(({ message }) => message)).toEqual(Array(3).fill(`No. (${code})`));
    expect(shown.at(-1)).toBe(totalBytes);
  });
});

it('shows the bytes as they are sent, and takes back those of each attempt that breaks off', async () => {
  const from = sourceOf(function* (bytes, attempt) {
    yield bytes.subarray(0, 6_000);
    if (attempt < 4) throw new TransferError('It broke off.');
    yield bytes.subarray(6_000);
  });
  expect((await run(from)).copied).toHaveLength(3);
  expect(Math.min(...shown)).toBe(0);
  expect(Math.max(...shown)).toBe(totalBytes);
  expect(shown.at(-1)).toBe(totalBytes);
  // Three attempts of each broke off.
  expect(shown.filter((sum, at) => sum < (shown[at - 1] ?? 0))).toHaveLength(9);
  expect(sleeps).toHaveLength(9);
});

describe('other bytes than the pointer says', () => {
  /** Of the right length, too few, and without end. */
  const others: Readonly<Record<string, (bytes: Buffer) => Iterable<Uint8Array>>> = {
    'of the right length': (bytes) => inThirds(Buffer.alloc(bytes.length, 'x')),
    'right but for the last one': (bytes) => [bytes.subarray(0, -1), Buffer.of(255)],
    'too few': (bytes) => [bytes.subarray(0, 9_999)],
    'without end': function* (bytes) {
      for (let piece = 0; ; piece += 1) {
        if (piece > 100) throw new Error('It is read to its end.');
        yield bytes;
      }
    },
  };

  it.each(Object.entries(others))('never arrive at a target that checks nothing: %s', async (_, piecesOf) => {
    const relayed = await run(sourceOf(piecesOf));
    expect(relayed.copied).toEqual([]);
    expect(relayed.failed.map(({ message }) => message)).toEqual(
      Array(3).fill(
        expect.stringMatching(/^The source (sent other bytes than the pointer says|broke off)\.$/),
      ),
    );
    expect([...target.objects.keys(), ...target.verified]).toEqual([]);
    expect(shown.at(-1)).toBe(totalBytes);
    expect(Math.max(...shown)).toBeLessThanOrEqual(totalBytes);
  });
});
