import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listen } from '../../../../support/serve.ts';

/**
 * What becomes of a request. `part`: the head of an answer and half of its body arrive, and then nothing. `drip`: then a
 * blank now and then, without end.
 */
type Fate = 'answer' | 'silence' | 'part' | 'drip';

const dripMs = 200;

/** A server whose connections fall silent without being closed, as behind a network that drops packets. */
export class SilentServer {
  /** The number of the connection on which each request came. */
  readonly requests: number[] = [];
  readonly #connections: Socket[] = [];
  readonly #fateOf: (request: { index: number; connection: number }) => Fate;
  readonly #server = createServer(
    { keepAliveTimeout: 60_000 },
    (request, response) => void this.#serve(request, response),
  );

  constructor(fateOf: (request: { index: number; connection: number }) => Fate) {
    this.#fateOf = fateOf;
    this.#server.on('connection', (socket) => this.#connections.push(socket));
  }

  /** Until the test is over. @returns its URL. */
  async listen(): Promise<string> {
    return `http://127.0.0.1:${await listen(this.#server)}`;
  }

  /** Connections that the client keeps open. */
  get openConnections(): number[] {
    return [...this.#connections.keys()].filter((index) => this.#connections[index]?.destroyed === false);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const connection = this.#connections.indexOf(request.socket);
    const fate = this.#fateOf({ index: this.requests.length, connection });
    this.requests.push(connection);
    if (fate === 'silence') return;
    const { headers, body } = answerTo(request, Buffer.concat(chunks).toString());
    if (fate === 'drip') {
      response.writeHead(200, headers).write('{');
      const timer = setInterval(() => response.write(' '), dripMs);
      response.on('close', () => clearInterval(timer));
      return;
    }
    response.writeHead(200, { ...headers, 'content-length': String(body.length) });
    if (fate === 'part') response.write(body.slice(0, body.length / 2));
    else response.end(body);
  }
}

/** A good answer of DynamoDB, SQS, Secrets Manager or S3. */
function answerTo(request: IncomingMessage, body: string): { headers: Record<string, string>; body: string } {
  const [, operation] = String(request.headers['x-amz-target'] ?? '').split('.');
  const json = { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': 'R1' };
  if (operation === 'GetSecretValue') {
    const SecretString = JSON.stringify({ accessKeyId: 'key', secretAccessKey: 'secret' });
    return { headers: json, body: JSON.stringify({ SecretString }) };
  }
  if (operation === 'SendMessage') {
    const { MessageBody } = JSON.parse(body) as { MessageBody: string };
    const MD5OfMessageBody = createHash('md5').update(MessageBody).digest('hex');
    return { headers: json, body: JSON.stringify({ MessageId: '1', MD5OfMessageBody }) };
  }
  if (operation !== undefined) return { headers: json, body: '{        }' };
  if (request.method === 'HEAD') return { headers: {}, body: '' };
  const page =
    '<ListBucketResult><KeyCount>0</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated></ListBucketResult>';
  return { headers: { 'content-type': 'application/xml' }, body: page };
}
