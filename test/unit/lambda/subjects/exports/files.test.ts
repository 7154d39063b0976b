import { describe, expect, it } from 'vitest';
import {
  decodeObjectList,
  distinctObjects,
  encodeObjectList,
  fileOf,
} from '../../../../../lambda/subjects/exports/rules/objects.ts';
import { ExportStack, type ExportStackOptions } from '../../../../support/subjects/exports/export-stack.ts';
import { archivesOf } from './expect-archives.ts';

const oidLike = 'a'.repeat(64);
const names = [
  'a',
  'a/b.png',
  'avatars/7 x.png',
  'Übersicht/日本 😀.png',
  `${'folder/'.repeat(20)}${'n'.repeat(150)}`,
  '-dash',
  '.git/config',
  'lfs/export/manifest-1.json',
  'z',
  oidLike,
];

/** A tenant with a repo of each kind. @returns what an export of the files must have. */
async function filesIn(options: ExportStackOptions = {}) {
  const stack = new ExportStack(options);
  const nowMs = stack.clock.nowMs();
  const { ledger } = stack.deps;
  const tenant = { tenant: 'acme', plan: null, limitBytes: null, scanned: null };
  await ledger.createTenant({ ...tenant, createdAtMs: nowMs, dueAtMs: nowMs });
  await ledger.createRepo({ tenant: 'acme', repo: 'media', createdAtMs: nowMs, kind: 'files' });
  const files = new Map<string, Uint8Array>();
  for (const [index, name] of names.entries()) {
    const bytes = Buffer.alloc(100 * index + 1, name);
    await stack.archives.put(`acme/media/${name}`, bytes);
    files.set(`files/media/${name}`, bytes);
  }
  await stack.archives.put('acme/media/empty.txt', Buffer.alloc(0));
  files.set('files/media/empty.txt', Buffer.alloc(0));
  const { objects } = stack.archives;
  await objects.putEmpty('acme/media/deleted.png', { mark: 'mark', onlyNew: true });
  // Nobody can have uploaded these.
  for (const name of ['../up', 'x//y', '_own/x', 'a\nb']) objects.put(`acme/media/${name}`, 1);
  return { stack, files };
}

/** Their bytes as text, by name. */
const filesOf = (all: ReadonlyMap<string, Uint8Array>) =>
  [...all]
    .filter(([name]) => name.startsWith('files/'))
    .map(([name, bytes]) => [name, Buffer.from(bytes).toString()])
    .sort();

describe('an export of files', () => {
  it.each([
    ['tar', 's3'],
    ['zip', 's3'],
    ['tar', 'stream'],
    ['zip', 'r2'],
  ] as const)(
    'as %s, on a store like %s, has each by its name, and none that was deleted',
    async (format, kind) => {
      const { stack, files } = await filesIn({ kind });
      await stack.start({ repo: 'media', format, isNamed: true });
      await stack.run();
      const { files: found, job, archives } = await archivesOf(stack);
      expect(filesOf(found)).toEqual(filesOf(files));
      expect([...found.keys()].filter((name) => name.startsWith('lfs/objects'))).toEqual([]);
      expect(job.planned).toMatchObject({ objectCount: files.size, missing: 0, conflicts: 0 });
      expect([...archives.keys()]).toEqual([expect.stringMatching(/\/acme-media-files\.(tar|zip)$/)]);
      // No oid says what bytes they must have, so nothing that imports by oids takes them.
      expect(found.get('lfs/export/index-1.txt')).toHaveLength(0);
    },
  );

  it('and of objects, in one tenant, has both, and an index of the objects alone', async () => {
    for (const format of ['tar', 'zip'] as const) {
      const { stack, files } = await filesIn();
      const stored = await stack.storeMany(9, 900, ['app', 'web']);
      await stack.start({ format });
      await stack.run();
      const { files: found, archives } = await archivesOf(stack);
      expect(filesOf(found)).toEqual(filesOf(files));
      const [archive = Buffer.alloc(0)] = archives.values();
      const lines = Buffer.from(found.get('lfs/export/index-1.txt') ?? [])
        .toString()
        .trimEnd()
        .split('\n');
      expect(lines.map((line) => line.slice(0, 64))).toEqual([...stored.keys()].sort());
      for (const line of lines) {
        const [oid = '', size, start] = line.split(/ +/);
        const placed = Buffer.from(archive).subarray(Number(start), Number(start) + Number(size));
        expect(placed.equals(stored.get(oid) ?? Buffer.alloc(1))).toBe(true);
      }
    }
  });

  it('has all of many pages, whatever they start with', async () => {
    const { stack } = await filesIn();
    const { objects } = stack.archives;
    const many = Array.from({ length: 2_500 }, (_, index) => `${'aZzé日'[index % 5]}/${index}`);
    for (const name of many) objects.put(`acme/media/many/${name}`, 1);
    await stack.start({ repo: 'media', isDryRun: true });
    await stack.run();
    expect((await stack.job()).planned?.objectCount).toBe(many.length + names.length + 1);
  });

  it('goes on without a file that is deleted meanwhile', async () => {
    const { stack, files } = await filesIn();
    await stack.start({ repo: 'media', isNamed: true });
    await stack.deliver();
    await stack.archives.objects.putEmpty('acme/media/z', { mark: 'mark', onlyNew: false });
    await stack.run();
    files.delete('files/media/z');
    const { files: found, job } = await archivesOf(stack);
    expect(filesOf(found)).toEqual(filesOf(files));
    expect(job.round).toBe(2);
  });

  it('of listed oids has none', async () => {
    const { stack } = await filesIn();
    const oid = await stack.store('app', Buffer.from('one'));
    const wanted = [{ oid }, { oid: oidLike }];
    await stack.archives.put('_exports/acme/first/work/request.json', Buffer.from(JSON.stringify(wanted)));
    await stack.start({ listedObjects: 2 });
    await stack.run();
    const { files: found, job } = await archivesOf(stack);
    expect(filesOf(found)).toEqual([]);
    expect(job.planned).toMatchObject({ objectCount: 1, missing: 1 });
  });
});

it('the list of an export keeps files whatever their names, before the objects', () => {
  const file = (name: string) => fileOf({ sizeBytes: 1, etag: '"e"', key: `acme/media/${name}` });
  const object = { oid: oidLike, sizeBytes: 1, etag: '"e"', key: `acme/app/${oidLike}` };
  const { objects, conflicts } = distinctObjects([object, ...[...names].reverse().map(file), object]);
  expect([objects.length, conflicts]).toEqual([names.length + 1, []]);
  expect(objects.at(-1)).toBe(object);
  expect(objects.map(({ key }) => key)).toEqual([
    ...names.map((name) => `acme/media/${name}`).sort(),
    object.key,
  ]);
  expect(decodeObjectList(encodeObjectList(objects))).toEqual(objects);
});
