import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  onlyNewProver,
  proveOnlyNew,
  type SendInHalves,
  sendInHalves,
} from '../../../../../lambda/core/store/only-new-proof.ts';
import {
  type SignUploadInput,
  StoreRefusedError,
  StoreUnavailableError,
} from '../../../../../lambda/core/store/rules/store.ts';
import { freePort } from '../../../../support/free-port.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { serve } from '../../../../support/serve.ts';

const nowMs = 1_000_000_000;
const minute = 60_000;

/** A store that answers PUTs by signed URLs with `put`. */
function storeThat(put: (input: { key: string; isSlow: boolean; objects: MemoryObjectStore }) => number) {
  const objects = new MemoryObjectStore();
  const signed: SignUploadInput[] = [];
  const send: SendInHalves = async ({ href }, body, between) => {
    await between?.();
    const status = put({ key: href, isSlow: between !== undefined, objects });
    if (status === 200) objects.put(href, body.length, undefined, nowMs);
    return status;
  };
  const deps = {
    store: objects,
    listing: objects,
    signer: {
      signUpload: async (input: SignUploadInput) => {
        signed.push(input);
        return { href: input.key, header: {} };
      },
    },
    clock: { nowMs: () => nowMs, sleep: async () => {} },
    ids: { random: (length: number) => 'r'.repeat(length) },
    sendInHalves: send,
  };
  return { objects, signed, deps };
}

const isThere = ({ key, objects }: { key: string; objects: MemoryObjectStore }) =>
  objects.versionOf(key) !== undefined;

describe('the proof that URLs of new objects replace nothing', () => {
  it('holds where the second upload, and one that ends too late, are refused', async () => {
    const { deps, objects, signed } = storeThat((input) => (isThere(input) ? 412 : 200));
    expect(await proveOnlyNew(deps)).toEqual({ kind: 'holds' });
    expect(objects.objectCount).toBe(0);
    const run = `_proofs/${'r'.repeat(16)}`;
    expect(signed.map(({ key, onlyNew, oid }) => [key, onlyNew, oid !== undefined])).toEqual([
      [`${run}-twice`, true, true],
      [`${run}-slow`, true, false],
    ]);
  });

  it('fails otherwise, and leaves nothing', async () => {
    const stores = [
      [{ kind: 'rejects', status: 501 }, () => 501],
      [{ kind: 'replaces', status: 200 }, () => 200],
      [
        { kind: 'replaces-late', status: 200 },
        (input: Parameters<typeof isThere>[0] & { isSlow: boolean }) =>
          !input.isSlow && isThere(input) ? 412 : 200,
      ],
      [
        { kind: 'replaces-late', status: 412 },
        ({ key, isSlow, objects }: Parameters<typeof isThere>[0] & { isSlow: boolean }) => {
          if (isSlow) objects.put(key, 7);
          return objects.versionOf(key) ? 412 : 200;
        },
      ],
    ] as const;
    for (const [proof, put] of stores) {
      const { deps, objects } = storeThat(put);
      expect(await proveOnlyNew(deps)).toEqual(proof);
      expect(objects.objectCount).toBe(0);
    }
  });

  it('fails where nothing tells an empty object from a file', async () => {
    const { deps, objects } = storeThat((input) => (isThere(input) ? 412 : 200));
    const head = async (key: string) => {
      const { mark: _, ...stored } = (await objects.head(key)) ?? { sizeBytes: 0, sha256: undefined };
      return stored;
    };
    const store = {
      head,
      putEmpty: objects.putEmpty.bind(objects),
      delete: objects.delete.bind(objects),
    };
    expect(await proveOnlyNew({ ...deps, store })).toEqual({ kind: 'unmarked' });
  });

  it('fails where an empty object waits for the upload in progress', async () => {
    const { deps, objects } = storeThat((input) => (isThere(input) ? 412 : 200));
    const { head } = objects;
    const store = {
      head: head.bind(objects),
      putEmpty: async (...[key, put]: Parameters<typeof objects.putEmpty>) => {
        if (!isThere({ key, objects }))
          throw new StoreUnavailableError('The store did not serve PUT (TimeoutError).');
        return objects.putEmpty(key, put);
      },
      delete: objects.delete.bind(objects),
    };
    expect(await proveOnlyNew({ ...deps, store })).toEqual({ kind: 'waits' });
    expect(objects.objectCount).toBe(0);
    const down = { ...store, putEmpty: () => Promise.reject(new StoreUnavailableError('down')) };
    await expect(proveOnlyNew({ ...deps, store: down })).rejects.toThrow('down');
  });

  it('removes what an earlier one left that died, and nothing else', async () => {
    const { deps, objects } = storeThat((input) => (isThere(input) ? 412 : 200));
    objects.put('_proofs/old-slow', 5, undefined, nowMs - 11 * minute);
    objects.put('_proofs/other-slow', 5, undefined, nowMs - 9 * minute);
    objects.put('_proofsx', 5, undefined, 0);
    expect(await proveOnlyNew(deps)).toEqual({ kind: 'holds' });
    expect(objects.keysBelow('')).toEqual(['_proofs/other-slow', '_proofsx']);
    // Here nobody knows how old it is.
    objects.put('_proofs/other-slow', 5);
    await proveOnlyNew(deps, { below: 'elsewhere/' });
    expect(objects.objectCount).toBe(2);
    await proveOnlyNew(deps);
    expect(objects.keysBelow('')).toEqual(['_proofsx']);
  });

  it('leaves no empty object that is put after the store answered', async () => {
    const { deps, objects } = storeThat((input) => (isThere(input) ? 412 : 200));
    const early: SendInHalves = async (signed, body, between) => {
      if (!between) return deps.sendInHalves(signed, body);
      void between();
      return 403;
    };
    const clock = { ...deps.clock, sleep: async () => void (await pause(5)) };
    expect(await proveOnlyNew({ ...deps, clock, sendInHalves: early })).toEqual({ kind: 'holds' });
    expect(objects.objectCount).toBe(0);
  });

  it('passes on what is no answer, and still tidies', async () => {
    const { deps, objects } = storeThat((input) => (isThere(input) ? 412 : 200));
    const none = () => Promise.reject(new StoreUnavailableError('No answer.'));
    const store = {
      head: objects.head.bind(objects),
      putEmpty: objects.putEmpty.bind(objects),
      delete: objects.delete.bind(objects),
    };
    const refusing = proveOnlyNew({ ...deps, store: { ...store, putEmpty: none } });
    await expect(refusing).rejects.toThrow('No answer.');
    expect(objects.objectCount).toBe(0);
    const stuck = () => Promise.reject(new StoreRefusedError('Not allowed.'));
    const keeping = { ...deps, store: { ...store, delete: stuck } };
    expect(await proveOnlyNew(keeping)).toEqual({ kind: 'holds' });
    expect(objects.objectCount).toBe(2);
  });
});

it('is tried until it holds, once at a time', async () => {
  const statuses = [200, 200, 200, 412];
  const { deps, signed } = storeThat(({ isSlow }) => (isSlow ? 412 : (statuses.shift() ?? 500)));
  const prove = onlyNewProver(deps);
  const both = [prove(), prove()];
  expect(await Promise.all(both)).toEqual(Array(2).fill({ kind: 'replaces', status: 200 }));
  expect(signed).toHaveLength(1);
  expect([await prove(), await prove()]).toEqual([{ kind: 'holds' }, { kind: 'holds' }]);
  expect(signed).toHaveLength(3);
  const unheard = onlyNewProver({ ...deps, sendInHalves: () => Promise.reject(new Error('Cut.')) });
  await expect(unheard()).rejects.toThrow('Cut.');
  await expect(unheard()).rejects.toThrow('Cut.');
  expect(signed).toHaveLength(5);
});

describe('a PUT in two halves', () => {
  it('arrives as it is signed, the second half after what is between', async () => {
    const seen: unknown[] = [];
    const url = await serve(async (message, response) => {
      const { method, url: path, headers } = message;
      let body = '';
      for await (const piece of message) {
        body += piece;
        seen.push(body.length);
      }
      seen.push({ method, path, host: headers.host, length: headers['content-length'], body });
      response.writeHead(412).end('no');
    });
    const between = async () => {
      while (seen.length === 0) await pause(5);
      seen.push('between');
    };
    const signed = { href: `${url}/b/a/../k?X-Amz-Signature=1`, header: {} };
    expect(await sendInHalves(signed, 'abcde', { between })).toBe(412);
    const { host } = new URL(url);
    expect(seen).toEqual([
      3,
      'between',
      5,
      { method: 'PUT', path: '/b/a/../k?X-Amz-Signature=1', host, length: '5', body: 'abcde' },
    ]);
  });

  it.each([429, 500, 503])('is no answer where the store is busy or failed: %i', async (status) => {
    const href = await serve((_, response) => void response.writeHead(status).end());
    await expect(sendInHalves({ href, header: {} }, 'ab')).rejects.toThrow(StoreUnavailableError);
  });

  it('ends with what goes wrong between, or without an answer', async () => {
    const url = await serve((message, response) => {
      message.resume().on('end', () => response.end());
    });
    const failing = () => Promise.reject(new Error('Between.'));
    const signed = { href: `${url}/k`, header: {} };
    await expect(sendInHalves(signed, 'ab', { between: failing })).rejects.toThrow('Between.');
    const nobody = { href: `http://127.0.0.1:${await freePort()}/k`, header: {} };
    await expect(sendInHalves(nobody, 'ab')).rejects.toThrow(StoreUnavailableError);
    const stop = new AbortController();
    const aborting = async () => stop.abort(new Error('Stopped.'));
    const sending = sendInHalves(signed, 'ab', { between: aborting, signal: stop.signal });
    await expect(sending).rejects.toThrow('Stopped.');
  });
});
