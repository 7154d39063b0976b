import { expect, it } from 'vitest';
import { composed } from '../../../support/composed.ts';
import { StoreFixture } from '../../../support/store-fixture.ts';

it('writes files of usage to its own store, empty ones too, if that is set', async () => {
  const store = await StoreFixture.start();
  const at = { url: store.url, head: () => undefined };
  const [on, off] = [composed(at, { writesUsage: true }), composed(at)];
  expect(off.deps.usageFiles).toBeUndefined();
  const files = on.deps.usageFiles;
  for (const text of ['', '{"id":"1"}\n', '{"id":"1"}\n']) {
    await files?.archives.put('_usage/2026/11/28/07.jsonl', Buffer.from(text));
    expect((await files?.listing.listPage({ prefix: '_usage/' }))?.totalBytes).toBe(text.length);
  }
  on.close();
  off.close();
  await store.stop();
});
