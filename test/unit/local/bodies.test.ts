import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Bodies } from '../../../local/bodies.ts';

const bytesMax = 1_000_000;

/** A request whose body the test sends. */
const newRequest = () => Object.assign(new PassThrough(), { headers: {} });
const receive = (bodies: Bodies, request: PassThrough) =>
  bodies.receive(request as unknown as IncomingMessage, bytesMax);

describe('the body of a request', () => {
  it('is copied as it comes: what lies in the memory does not depend on the number of its pieces', async () => {
    const request = newRequest();
    const receiving = receive(new Bodies(), request);
    const piece = Buffer.alloc(1);
    for (let at = 0; at < 10_000; at += 1) {
      piece[0] = at % 251;
      request.emit('data', piece);
    }
    request.emit('end');
    const received = await receiving;
    if (received.kind !== 'whole') throw new Error(received.kind);
    expect(received.body.equals(Buffer.from(Array.from({ length: 10_000 }, (_, at) => at % 251)))).toBe(true);
    expect(received.body.buffer.byteLength).toBeLessThanOrEqual(20_000);
  });

  it('makes room if all of them have too much, the oldest first', async () => {
    const bodies = new Bodies(50_000);
    const requests = [newRequest(), newRequest(), newRequest()];
    const [first, second, third] = requests.map((request) => receive(bodies, request));
    for (const request of requests) request.emit('data', Buffer.alloc(10_000));
    expect(await first).toEqual({ kind: 'aborted' });
    for (const request of requests) request.emit('end');
    expect([await second, await third]).toMatchObject([{ kind: 'whole' }, { kind: 'whole' }]);
  });

  it('gives its room back when it has ended, however it does', async () => {
    const bodies = new Bodies(50_000);
    for (const end of ['end', 'close', 'error', 'end', 'close']) {
      const request = newRequest();
      const receiving = receive(bodies, request);
      request.emit('data', Buffer.alloc(10_000));
      request.emit(end, new Error('reset'));
      expect(await receiving).toMatchObject({ kind: end === 'end' ? 'whole' : 'aborted' });
    }
    const slow = newRequest();
    const receiving = receive(bodies, slow);
    slow.emit('data', Buffer.alloc(10_000));
    slow.emit('data', Buffer.alloc(10_000));
    slow.emit('end');
    expect(await receiving).toMatchObject({ kind: 'whole' });
  });
});
