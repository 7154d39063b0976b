import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openKeptMessages } from '../../../../local/background/kept-messages.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const event = { id: 'acme:1', type: 'storage.level', timestamp: '2026-11-21T05:00:00Z', data: {} } as const;
const kept = (messageId: string, failures = 0) => ({
  message: { tenant: 'acme', event },
  messageId,
  failures,
});

it('keeps what was saved last, for whoever may read the folder alone, and no file for nothing', async () => {
  const folder = tempFolder();
  const messages = openKeptMessages(folder);
  expect(await messages.load()).toEqual([]);
  await messages.save([]);
  expect(readdirSync(folder)).toEqual([]);
  await messages.save([kept('a'), kept('b', 3)]);
  await messages.save([kept('b', 4)]);
  expect(await openKeptMessages(folder).load()).toEqual([kept('b', 4)]);
  expect(statSync(join(folder, 'webhook-queue.json')).mode & 0o777).toBe(0o600);
  await messages.save([]);
  expect(readdirSync(folder)).toEqual([]);
  await messages.save([kept('c')]);
  await openKeptMessages(folder).save([]);
  expect(readdirSync(folder)).toEqual([]);
});

it.each([
  ['no JSON', '[{"mess'],
  ['no list', '{}'],
  ['what is none', '[null, 5, {"message": null, "messageId": "a", "failures": 0}]'],
  ['no id', '[{"message": {}, "failures": 0}]'],
  ['no count', '[{"message": {}, "messageId": "a", "failures": "0"}]'],
])('takes nothing from a file of %s', async (_what, text) => {
  const folder = tempFolder();
  const file = join(folder, 'webhook-queue.json');
  writeFileSync(file, text);
  expect(await openKeptMessages(folder).load()).toEqual([]);
  expect(readFileSync(file, 'utf8')).toBe(text);
});
