import { expect, it, onTestFinished } from 'vitest';
import { S3TextFiles } from '../../../../../lambda/adapters/s3/text-files.ts';
import { bucketAt } from '../../../../support/serve.ts';
import { bucket, credentials, StoreFixture } from '../../../../support/store-fixture.ts';

async function open() {
  const fixture = await StoreFixture.start();
  onTestFinished(() => fixture.stop());
  const client = bucketAt(fixture.url, { credentials: async () => credentials });
  return { fixture, files: new S3TextFiles({ client }) };
}

it.each(['', '{}', '[{"name":"bücher/ä 📦.psd"}]', 'x'.repeat(1024 * 1024)])(
  'puts a text as it is, and in the place of another: %.30s',
  async (text) => {
    const { fixture, files } = await open();
    const key = '_exports/acme/019a/work/request.json';
    for (const each of ['another', text]) await files.put(key, Buffer.from(each));
    const stored = await fixture.send({ method: 'GET', path: `/${bucket}/${key}` });
    expect([stored.status, stored.body.toString()]).toEqual([200, text]);
    expect(fixture.errors).toEqual([]);
  },
);

it('reads all bytes of what was put, and nothing where nothing is', async () => {
  const { files } = await open();
  const text = 'candidate 1\n'.repeat(100_000);
  await files.put('_gc/acme/w/f/candidates-0.txt', Buffer.from(text));
  const read = await files.get('_gc/acme/w/f/candidates-0.txt');
  expect(Buffer.from(read ?? []).toString()).toBe(text);
  expect(await files.get('_gc/acme/w/f/candidates-1.txt')).toBeUndefined();
});
