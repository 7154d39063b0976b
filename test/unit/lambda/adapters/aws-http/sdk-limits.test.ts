import { HeadObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterEach, expect, it } from 'vitest';
import { requestHandler } from '../../../../../lambda/adapters/aws-http/sdk-limits.ts';
import { type Fate, SilentServer } from './silent-server.ts';

const opened: SilentServer[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});

async function askedOf(fate: Fate) {
  const server = new SilentServer(() => fate);
  opened.push(server);
  const client = new S3Client({
    endpoint: await server.listen(),
    region: 'us-east-1',
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    forcePathStyle: true,
    maxAttempts: 2,
    requestHandler: requestHandler({ connectMs: 5_000, answerMs: 100 }),
  });
  return { server, answer: client.send(new HeadObjectCommand({ Bucket: 'objects', Key: 'k' })) };
}

it('a store that takes requests and never answers is given up, and its connections with it', async () => {
  const { server, answer } = await askedOf('silence');
  await expect(answer).rejects.toThrow(expect.objectContaining({ name: 'TimeoutError' }));
  expect(server.requests).toHaveLength(2);
  await expect.poll(() => server.openConnections).toEqual([]);
});

it('a store that answers is not', async () => {
  const { server, answer } = await askedOf('answer');
  await answer;
  expect(server.openConnections).toEqual([0]);
});
