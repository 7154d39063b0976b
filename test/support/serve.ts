import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { BucketClient, type S3Settings } from '../../lambda/core/store/bucket-client.ts';

const connections = new WeakMap<Server, Set<Socket>>();

/** Listens on loopback until the test is over. @returns the port. */
export async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  const open = new Set<Socket>();
  connections.set(server, open);
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => close(server));
  return (server.address() as AddressInfo).port;
}

/** Ends a server with all its connections. */
export async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of connections.get(server) ?? []) socket.destroy();
  await closed;
}

/** Serves on loopback until the test is over. @returns the URL. */
export async function serve(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer({ keepAliveTimeout: 60_000 }, listener))}`;
}

/** A client, until the test is over, of the bucket `objects` at a server of the test. Its requests are sent again without pauses. */
export function bucketAt(endpoint: string, more: Partial<S3Settings> = {}): BucketClient {
  const client = new BucketClient({
    bucket: 'objects',
    region: 'us-east-1',
    endpoint,
    forcePathStyle: true,
    credentials: async () => ({ accessKeyId: 'key', secretAccessKey: 'secret' }),
    random: () => 0,
    ...more,
  });
  onTestFinished(() => client.destroy());
  return client;
}
