import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AwsJsonClient } from '../../../../../lambda/adapters/aws-http/json-client.ts';
import { NodeSha256 } from '../../../../../lambda/domain/hash.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const requests: Seen[] = [];
/** What the server does with each request in turn, and with all further ones as with the last. */
let conduct: ((response: ServerResponse) => void)[] = [];

const server = createServer(async (request, response) => {
  const { method, url, headers } = request;
  requests.push({ method, url, headers, body: await text(request) });
  conduct[Math.min(requests.length, conduct.length) - 1]?.(response);
});

beforeEach(async () => {
  requests.length = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const answer =
  (status: number, body: string, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end(body);
const good = answer(200, '{"MessageId":"1"}');
const cut = (response: ServerResponse) => void response.socket?.destroy();
const silence = () => {};
const endless = (response: ServerResponse) => {
  const write = () => {
    while (!response.destroyed && response.write('x'.repeat(65_536)));
  };
  response.on('drain', write);
  write();
};

const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'secret',
  sessionToken: 'IQoJb3JpZ2lu+/==',
};
const limits = { attemptsMax: 3, connectMs: 5_000, answerMs: 5_000 };

function open(endpoint = origin()): AwsJsonClient {
  return new AwsJsonClient({
    title: 'SQS',
    signingName: 'sqs',
    targetPrefix: 'AmazonSQS',
    jsonVersion: '1.0',
    region: 'eu-central-1',
    endpoint,
    credentials: () => credentials,
    // No pauses.
    random: () => 0,
  });
}

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => new Error('The call succeeded.'),
    (error: unknown) => error as Error,
  );

describe('a call', () => {
  it('is one POST in the JSON protocol, and its answer is the parsed body', async () => {
    conduct = [good];
    expect(await open().call('SendMessage', { MessageBody: 'ä😀' }, limits)).toEqual({ MessageId: '1' });
    expect(requests).toMatchObject([
      {
        method: 'POST',
        url: '/',
        body: '{"MessageBody":"ä😀"}',
        headers: {
          'x-amz-target': 'AmazonSQS.SendMessage',
          'content-type': 'application/x-amz-json-1.0',
          'content-length': '24',
          'x-amz-security-token': credentials.sessionToken,
        },
      },
    ]);
  });

  it.each(['', '/with a/path%2F/'])(
    'is signed as the SDK signs it, at an endpoint with the path "%s"',
    async (path) => {
      conduct = [good];
      await open(`${origin()}${path}`).call('SendMessage', { MessageBody: 'ä😀' }, limits);
      const [{ url = '', headers, body } = {} as Seen] = requests;
      const { authorization, connection, 'content-length': _length, ...signed } = headers;
      const time = String(headers['x-amz-date']).replace(
        /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/,
        '$1-$2-$3T$4:$5:$6Z',
      );
      const sdk = new SignatureV4({
        service: 'sqs',
        region: 'eu-central-1',
        credentials,
        sha256: NodeSha256,
      });
      const request = { method: 'POST', path: url, headers: signed as Record<string, string>, body };
      const { headers: expected } = await sdk.sign(new HttpRequest(request), { signingDate: new Date(time) });
      expect(authorization).toBe(expected['authorization']);
      expect(connection).toBe('keep-alive');
    },
  );

  it('may be answered by an empty body', async () => {
    conduct = [answer(200, '')];
    expect(await open().call('ChangeMessageVisibility', {}, limits)).toEqual({});
  });

  it('may be answered by the largest secret, escaped', async () => {
    conduct = [answer(200, `{"SecretString":"${'\\u00e4'.repeat(65_536)}"}`)];
    expect(await open().call('GetSecretValue', {}, limits)).toEqual({ SecretString: 'ä'.repeat(65_536) });
  });
});

describe('a call is tried again', () => {
  it.each([
    ['500', answer(500, '{"__type":"InternalFailure"}')],
    ['503 of a proxy', answer(503, '<html>')],
    ['429', answer(429, '{}')],
    ['400 ThrottlingException', answer(400, '{"__type":"ThrottlingException"}')],
    ['400 RequestThrottled', answer(400, '{"__type":"com.amazonaws.sqs#RequestThrottled"}')],
    ['a cut connection', cut],
    ['an answer that is no JSON', answer(200, '<html>')],
    ['JSON that is no object', answer(200, '["MessageId"]')],
    ['half of an answer', answer(200, '{"MessageId":', { 'content-length': '13' })],
    ['an answer without an end', endless],
  ])('after %s, with the same body', async (_what, failing) => {
    conduct = [failing, failing, good];
    expect(await open().call('SendMessage', { MessageBody: 'm' }, limits)).toEqual({ MessageId: '1' });
    expect(requests.map(({ body }) => body)).toEqual(new Array(3).fill('{"MessageBody":"m"}'));
  });

  it('as often as it may, and then fails with the last answer', async () => {
    conduct = [
      answer(500, '{}'),
      answer(500, '{}'),
      answer(503, '{"__type":"ServiceUnavailable","message":"busy"}'),
    ];
    const error = await failureOf(open().call('SendMessage', {}, limits));
    expect(error).toMatchObject({
      name: 'ServiceUnavailable',
      code: 'ServiceUnavailable',
      status: 503,
      message: 'SQS answered SendMessage with 503 ServiceUnavailable: busy',
    });
    expect(error.cause).toBeUndefined();
    expect(requests).toHaveLength(3);
  });

  it('on a new connection, after a server that stays silent', async () => {
    conduct = [silence, good];
    const quick = { ...limits, answerMs: 100 };
    expect(await open().call('SendMessage', {}, quick)).toEqual({ MessageId: '1' });
  });

  it('and ends in time if the server stays silent', async () => {
    conduct = [silence];
    const error = await failureOf(
      open().call('SendMessage', {}, { attemptsMax: 2, connectMs: 50, answerMs: 50 }),
    );
    expect(error).toMatchObject({
      name: 'TimeoutError',
      status: undefined,
      message: 'SQS did not answer SendMessage: Nothing arrived within 50 ms.',
      cause: { name: 'TimeoutError' },
    });
    expect(requests).toHaveLength(2);
  });

  it('even if nobody listens', async () => {
    const closed = origin();
    const client = open(closed);
    await new Promise((resolve) => server.close(resolve));
    expect(await failureOf(client.call('SendMessage', {}, limits))).toMatchObject({
      name: 'ECONNREFUSED',
      code: 'ECONNREFUSED',
      status: undefined,
      message: expect.stringMatching(/^SQS did not answer SendMessage: /),
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
});

describe('a refusal', () => {
  it.each([
    [
      '{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"No queue."}',
      {},
      'QueueDoesNotExist: No queue.',
    ],
    ['{"__type":"AccessDeniedException","Message":"No."}', {}, 'AccessDeniedException: No.'],
    [
      '{}',
      { 'x-amzn-errortype': 'InvalidAddress:http://internal/doc' },
      'InvalidAddress: it gave no reason.',
    ],
    ['<html>', {}, 'Unknown: it gave no reason.'],
    ['{"__type":7,"message":{}}', {}, 'Unknown: it gave no reason.'],
  ])('is not tried again, and says why: %s', async (body, headers, why) => {
    conduct = [answer(400, body, headers)];
    const error = await failureOf(open().call('SendMessage', {}, limits));
    expect(error.message).toBe(`SQS answered SendMessage with 400 ${why}`);
    expect(error.constructor.name).toBe('AwsServiceError');
    expect(requests).toHaveLength(1);
  });

  it('of a signature does not show what AWS expected, nor any URL', async () => {
    const message =
      'The signature we calculated does not match, see https://docs.aws.amazon.com/x?y=secret .\n\n' +
      `The Canonical String should have been\n'POST\n/\n\nx-amz-security-token:${credentials.sessionToken}'`;
    conduct = [answer(403, JSON.stringify({ __type: 'InvalidSignatureException', message }))];
    const error = await failureOf(open().call('SendMessage', { MessageBody: 'private' }, limits));
    expect(error).toMatchObject({
      status: 403,
      message:
        'SQS answered SendMessage with 403 InvalidSignatureException: ' +
        'The signature we calculated does not match, see (URL) .',
    });
    expect(JSON.stringify([error, error.stack, error.cause])).not.toMatch(/IQoJ|secret|private/);
  });

  it('may say as much as it likes: only the beginning is kept', async () => {
    conduct = [answer(400, JSON.stringify({ __type: 'X', message: 'm'.repeat(10_000) }))];
    const { message } = await failureOf(open().call('SendMessage', {}, limits));
    expect(message).toBe(`SQS answered SendMessage with 400 X: ${'m'.repeat(300)}`);
  });
});

describe('a connection', () => {
  afterEach(() => vi.useRealTimers());

  // A process that was frozen can't hear that the service closed the connection. By which of the clocks the time went on
  // depends on what froze it.
  it.each(['Date', 'performance'] as const)(
    'is not used again if it was idle for long, by %s',
    async (clock) => {
      const connections: unknown[] = [];
      server.on('connection', (socket) => connections.push(socket));
      conduct = [good];
      const client = open();
      vi.useFakeTimers({ toFake: [clock] });
      for (const idleMs of [0, 3_900, 3_900]) {
        vi.advanceTimersByTime(idleMs);
        await client.call('SendMessage', {}, limits);
      }
      expect(connections).toHaveLength(1);
      // Two that are idle, of which one is used again in time.
      await Promise.all([client.call('SendMessage', {}, limits), client.call('SendMessage', {}, limits)]);
      vi.advanceTimersByTime(3_000);
      await client.call('SendMessage', {}, limits);
      vi.advanceTimersByTime(3_000);
      await client.call('SendMessage', {}, limits);
      expect(connections).toHaveLength(2);
      vi.advanceTimersByTime(4_100);
      await client.call('SendMessage', {}, limits);
      expect(connections).toHaveLength(3);
    },
  );
});

it('what is a bug of ours is neither tried again nor called a failure of the service', async () => {
  conduct = [good];
  const bug = new TypeError('bug');
  const client = new AwsJsonClient({
    title: 'SQS',
    signingName: 'sqs',
    targetPrefix: 'AmazonSQS',
    jsonVersion: '1.0',
    region: 'eu-central-1',
    endpoint: origin(),
    credentials: () => {
      throw bug;
    },
  });
  expect(await failureOf(client.call('SendMessage', {}, limits))).toBe(bug);
  expect(requests).toEqual([]);
});
