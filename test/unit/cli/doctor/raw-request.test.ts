import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { answerBytesMax, describeOutcome, sendRaw } from '../../../../cli/doctor/probe.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function ask(answer: (response: ServerResponse) => void, signal?: AbortSignal) {
  const server = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => answer(response));
  ends.push(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const href = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return sendRaw({ href, method: 'GET', idleMs: 500, ...(signal && { signal }) });
}

it('an answer that is cut in the middle is none', async () => {
  const outcome = await ask((response) => {
    response.writeHead(200, { 'content-length': '9' });
    response.write('half', () => response.destroy());
  });
  expect(describeOutcome(outcome)).toBe('no response (ECONNRESET)');
});

it('an answer that drips without end is none', async () => {
  const outcome = await ask((response) => {
    const drip = setInterval(() => response.write('.'), 50);
    ends.push(() => clearInterval(drip));
  });
  expect(describeOutcome(outcome)).toBe('no response (no end for 0.5 s)');
});

it('an answer whose headers drip without end is none', async () => {
  const outcome = await ask(({ socket }) => {
    socket?.write('HTTP/1.1 200 OK\r\nx-drip: ');
    const drip = setInterval(() => socket?.write('.'), 50);
    ends.push(() => clearInterval(drip));
  });
  expect(describeOutcome(outcome)).toBe('no response (no end for 0.5 s)');
});

it('an answer that stops in the middle is none', async () => {
  const outcome = await ask((response) => response.writeHead(200).write('half'));
  expect(describeOutcome(outcome)).toMatch(/^no response/);
});

it('of a long answer only the beginning is read', async () => {
  const outcome = await ask((response) => {
    const more = setInterval(() => response.write(Buffer.alloc(20_000, 'x')), 5);
    ends.push(() => clearInterval(more));
  });
  expect(outcome).toMatchObject({ kind: 'answer', status: 200, body: Buffer.alloc(answerBytesMax, 'x') });
});

it('an abort ends what drips, with its own reason', async () => {
  const abort = new AbortController();
  const reason = new Error('Enough.');
  const outcome = ask((response) => {
    response.write('.');
    setTimeout(() => abort.abort(reason), 50);
  }, abort.signal);
  await expect(outcome).rejects.toBe(reason);
});
