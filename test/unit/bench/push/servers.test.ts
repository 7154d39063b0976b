import { expect, it } from 'vitest';
import { chooseServers } from '../../../../bench/push/servers.ts';

const choose = (peers: boolean) => {
  const printed: string[] = [];
  const print = (text: string) => printed.push(text);
  return chooseServers({ peers, before: false }, { store: { isEmbedded: true }, print });
};

it('peers are left out beside the embedded store, and named with the reason', async () => {
  const { servers, missing } = await choose(true);
  expect(servers.map(({ name }) => name)).toEqual(['ours', 'presign-only']);
  expect(missing).toEqual([
    expect.stringMatching(/^giftless and rudolfs are left out: .*engines\.sh install/),
  ]);
});

it('nobody is missing who was not asked for', async () => {
  const { servers, missing } = await choose(false);
  expect(servers.map(({ name }) => name)).toEqual(['ours', 'presign-only']);
  expect(missing).toEqual([]);
});
