import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { repoKey } from '../../lambda/core/ledger/items.ts';
import { AwsServiceError } from '../../lambda/core/rules/errors.ts';
import { stored } from '../../lambda/core/table/stored-names.ts';
import { tenantKey } from '../../lambda/core/table/table.ts';
import { storesOn } from '../../local/stores.ts';
import { closeServer, listen } from '../../local/system/loopback-server.ts';
import { LocalTable } from '../../local/table/table.ts';
import { newTenant } from '../../test/support/ledger-records.ts';
import { MemoryStore } from '../../test/support/memory/memory-store.ts';
import { tokenRecord } from '../../test/support/token-record.ts';
import { ListServer } from '../list-server.ts';

export const tenant = 'acme';
export const repo = 'app';
export const filesRepo = 'media';
export const token = `lfsq_${'b'.repeat(40)}`;
const tableName = 'lfs-quota';
const objectBytes = 1000;

/** Time to the first byte of each service. The table's own work comes on top. */
const latenciesMs = { table: 5, queue: 8, secret: 20, head: 20, list: 100 } as const;

/**
 * All services that a function calls, on one port with TLS, but with no work to do for the functions. Needs `openssl`.
 *
 * @param folder for the certificate.
 */
export async function startBackend(folder: string) {
  let table = await seededTable(0);
  const list = new ListServer();
  list.latencyMs = () => latenciesMs.list;

  /** The header that names an operation tells services apart; S3 has none. */
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const [service = '', operation = ''] = String(request.headers['x-amz-target'] ?? '').split('.');
    if (service.startsWith('DynamoDB')) {
      await sleep(latenciesMs.table);
      const { status, output } = await answerOf(
        table.send(operation as 'GetItem', plain(await json(request)) as never),
      );
      answerJson(response, output, status);
    } else if (service === 'AmazonSQS') {
      const { MessageBody = '' } = (await json(request)) as { MessageBody?: string };
      await sleep(latenciesMs.queue);
      // The SDK checks the hash of the message in the answer.
      const MD5OfMessageBody = createHash('md5').update(MessageBody).digest('hex');
      answerJson(response, { MessageId: 'message', MD5OfMessageBody, SequenceNumber: '1' });
    } else if (service === 'secretsmanager') {
      await sleep(latenciesMs.secret);
      answerJson(response, { Name: 'admin', SecretString: 'bench-admin-token' });
    } else if (request.method === 'HEAD') {
      await sleep(latenciesMs.head);
      // No object that is asked for is stored. Like S3: without either header, Node would close the connection.
      response.writeHead(404, { 'content-type': 'application/xml', 'transfer-encoding': 'chunked' }).end();
    } else {
      await list.answer(request, response);
    }
  };
  const { certificateFile, ...tls } = makeCertificate(folder);
  const server = createServer({ ...tls, keepAliveTimeout: 60_000 }, (request, response) => {
    void answer(request, response);
  });
  const url = `https://127.0.0.1:${await listen(server, { port: 0, usedBy: 'the backend' })}`;
  return {
    url,
    certificateFile,
    close: () => closeServer(server, 0),
    /** The state before a call. @param objects of the repo. */
    reset: async (objects: number) => {
      table = await seededTable(objects);
    },
  };
}

export type Backend = Awaited<ReturnType<typeof startBackend>>;

function answerJson(response: ServerResponse, body: object, status = 200): void {
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': 'R1' };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

/** A table in memory with a tenant, its token, and its two repos, which were counted just now. */
async function seededTable(objects: number): Promise<LocalTable> {
  const client = new LocalTable(new MemoryStore());
  const { ledger, tokens } = storesOn({ client, tableName });
  const nowMs = Date.now();
  // Used within the hour, as nearly every token that is used: its use isn't written again.
  await tokens.put(tokenRecord(token, { tenant, createdAtMs: nowMs, lastUsedAtMs: nowMs }));
  const scanned = { storedBytes: objects * objectBytes, objectCount: objects, scannedAtMs: nowMs };
  await ledger.createTenant(newTenant(tenant, { limitBytes: 1e15, scanned }));
  const put = (item: Record<string, unknown>) => client.send('PutItem', { TableName: tableName, Item: item });
  const { Item } = await client.send('GetItem', { TableName: tableName, Key: tenantKey(tenant) });
  // As after a first reconcile.
  await put({ ...Item, epoch: 1, appliedEpoch: 1 });
  for (const [name, kind] of [[repo], [filesRepo, { kind: 'files' }]] as const)
    await put(
      stored({ ...repoKey({ tenant, repo: name }), repo: name, ...kind, ...scanned, epoch: 1, covered: [] }),
    );
  return client;
}

/** DynamoDB's answer, from a table in memory. */
async function answerOf(sent: Promise<object>): Promise<{ status: number; output: object }> {
  try {
    return { status: 200, output: marshalled(await sent) };
  } catch (error) {
    if (!(error instanceof AwsServiceError)) throw error;
    const { code, message, status } = error;
    return { status: status ?? 400, output: { __type: `dynamodb#${code}`, message } };
  }
}

/** An input with values instead of DynamoDB's, which are objects with one member that names the type. */
function plain(input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return input;
  if (Array.isArray(input)) return input.map(plain);
  const members = Object.entries(input);
  if (members.length === 1 && /^([BNS]S?|BOOL|NULL|[LM])$/.test(members[0]?.[0] ?? ''))
    return unmarshall({ value: input as never })['value'];
  return Object.fromEntries(members.map(([name, value]) => [name, plain(value)]));
}

/** An output with DynamoDB's values in its items. */
function marshalled(output: object): object {
  const convert = ([name, value]: [string, unknown]): [string, unknown] => {
    if (Array.isArray(value)) return [name, value.map((item) => marshall(item))];
    if (['Item', 'Attributes', 'LastEvaluatedKey'].includes(name) && value) return [name, marshall(value)];
    if (name === 'Responses') return [name, marshalled(value as object)];
    return [name, value];
  };
  return Object.fromEntries(Object.entries(output).map(convert));
}

/** A certificate of this run for 127.0.0.1, which signs itself: PEM, and the file that a client has to trust. */
function makeCertificate(folder: string): { key: string; cert: string; certificateFile: string } {
  const [keyFile, certificateFile] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-noenc', '-days', '1', '-subj', '/CN=localhost'];
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', keyFile, '-out', certificateFile];
  execFileSync('openssl', [...args, ...names], { stdio: 'pipe' });
  return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certificateFile, 'utf8'), certificateFile };
}
