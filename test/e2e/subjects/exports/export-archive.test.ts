import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { s3Limits } from '../../../../lambda/core/store/rules/store-kind.ts';
import {
  type ArchiveFormat,
  tarFormat,
  zipFormat,
} from '../../../../lambda/subjects/exports/rules/archive-formats.ts';
import { entrySizesOf, Layout } from '../../../../lambda/subjects/exports/rules/layout.ts';
import type { StoredObject } from '../../../../lambda/subjects/exports/rules/objects.ts';
import { type Segment, segmentsIn } from '../../../../lambda/subjects/exports/rules/orders.ts';
import { planExport } from '../../../../lambda/subjects/exports/rules/plan.ts';
import { quickestSettings } from '../../../../lambda/subjects/exports/rules/settings.ts';
import { describeWith } from '../../../support/describe-with.ts';
import { gitEnvironment, run } from '../../../support/process.ts';
import { archiveTools, pythonHashes, runTool } from '../../../support/subjects/exports/archive-tools.ts';
import { combineCrc32 } from '../../../support/subjects/exports/combine-crc32.ts';
import {
  type ContentStore,
  contentStore,
  executePlan,
  subject,
} from '../../../support/subjects/exports/export-archive.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { describeWithGitLfs } from '../../with-git-lfs.ts';

const modifiedAtMs = Date.UTC(2026, 10, 22, 12);
const formats = { tar: tarFormat({ modifiedAtMs }), zip: zipFormat({ modifiedAtMs }) };
const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** The archive as the parts of its plan make it. */
function archiveOf(store: ContentStore, format: ArchiveFormat): Buffer {
  const plan = planExport({ ...store, format, subject }, quickestSettings(s3Limits));
  const [volume] = plan.kind === 'planned' ? plan.volumes : [];
  if (!volume) throw new Error(plan.kind);
  return executePlan(volume, { ...store, limits: s3Limits });
}

/** Every file below a folder, by its path → SHA-256. */
function hashesBelow(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true, encoding: 'utf8' });
  return Object.fromEntries(
    files
      .filter((file) => file.isFile())
      .map((file) => join(file.parentPath, file.name))
      .map((file) => [file.slice(folder.length + 1), sha256(readFileSync(file))]),
  );
}

/** Contents and names that formats treat in different ways. */
function variedStore(): ContentStore {
  const names = [
    'plain.txt',
    'Übersicht/日本 😀.png',
    `${'folder/'.repeat(20)}${'n'.repeat(90)}`,
    `${'n'.repeat(180)}/${'m'.repeat(200)}`,
    'empty',
    '-dash',
    // At the limits of a name in a tar.
    ...[99, 100, 101, 254, 255].map((length) => 'l'.repeat(length)),
    ...[154, 155, 156].map((length) => `${'p'.repeat(length)}/${'l'.repeat(100)}`),
    `${'p'.repeat(156)}/${'l'.repeat(99)}`,
  ];
  const contents = names.map((name) => Buffer.from(name === 'empty' ? '' : name.repeat(99)));
  const large = [5 * mebibyte - 1, 5 * mebibyte, 5 * mebibyte + 1, 13 * mebibyte];
  const filled = large.map((length, index) => Buffer.alloc(length, `large ${index} `));
  return contentStore([...contents, ...filled], names);
}

/** Runs of zeros are what a sparse file has where nothing is written. */
function crc32OfZeros(sizeBytes: number): number {
  const pieces = [];
  let piece = { crc32: crc32(Buffer.alloc(1)), sizeBytes: 1 };
  for (let rest = sizeBytes; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) pieces.push(piece);
    piece = { crc32: combineCrc32([piece, piece]), sizeBytes: 2 * piece.sizeBytes };
  }
  return combineCrc32(pieces);
}

function made({ crc32Of, bytes }: Extract<Segment, { kind: 'literal' }>): Uint8Array {
  return bytes(crc32Of ? crc32OfZeros(crc32Of.sizeBytes) : 0);
}

function layoutOf(objects: readonly StoredObject[], format: ArchiveFormat): Layout {
  const sizes = entrySizesOf(objects, format);
  const input = { objects, sizes, format, subject, volume: { number: 1, of: 1 } };
  return new Layout(input, () => Uint32Array.from(objects.keys()));
}

/** Writes an archive whose objects are zeros. The file is sparse. */
async function writeSparse(
  file: string,
  objects: readonly StoredObject[],
  format: ArchiveFormat,
): Promise<Layout> {
  const layout = layoutOf(objects, format);
  const handle = await open(file, 'w');
  await handle.truncate(layout.sizeBytes);
  let at = 0;
  let pending: { at: number; pieces: Uint8Array[]; bytes: number } | undefined;
  const flush = async () => {
    if (pending) await handle.write(Buffer.concat(pending.pieces), 0, pending.bytes, pending.at);
    pending = undefined;
  };
  for (const segment of segmentsIn(layout, { startByte: 0, endByte: layout.sizeBytes })) {
    const { sizeBytes } = segment;
    // Only long runs of zeros become holes.
    if (segment.kind === 'object' && sizeBytes > mebibyte) await flush();
    else {
      pending ??= { at, pieces: [], bytes: 0 };
      pending.pieces.push(segment.kind === 'object' ? Buffer.alloc(sizeBytes) : made(segment));
      pending.bytes += sizeBytes;
      if (pending.bytes > mebibyte) await flush();
    }
    at += sizeBytes;
  }
  await flush();
  await handle.close();
  expect(at).toBe(layout.sizeBytes);
  return layout;
}

function zeroObjects(sizes: readonly number[]): StoredObject[] {
  return sizes.map((sizeBytes, index) => {
    const oid = index.toString(16).padStart(64, '0');
    return { oid, sizeBytes, etag: '"e"', key: `acme/app/${oid}` };
  });
}

const pythonList = `
import json, sys, tarfile, zipfile
if sys.argv[1].endswith('.zip'):
    archive = zipfile.ZipFile(sys.argv[1])
    files = [[each.filename, each.file_size] for each in archive.infolist()]
    last = archive.read(files[-1][0])
else:
    archive = tarfile.open(sys.argv[1], 'r:')
    files = [[each.name, each.size] for each in archive]
    last = archive.extractfile(files[-1][0]).read()
print(json.dumps({'count': len(files), 'bytes': sum(size for _, size in files), 'last': files[-1], 'read': len(last)}))
`;

describeWith({ title: 'other programs read the archives', ...archiveTools }, () => {
  const tempFolder = useTempFolders();

  it.each(['tar', 'zip'] as const)('%s: every file and byte', async (kind) => {
    const folder = tempFolder();
    const store = variedStore();
    const file = join(folder, `export.${kind}`);
    writeFileSync(file, archiveOf(store, formats[kind]));

    const hashes: Record<string, string> = JSON.parse(
      await runTool(folder, 'python3', '-c', pythonHashes, file),
    );
    const expected = store.objects.map(({ oid, name }) => [
      name ?? `lfs/objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`,
      oid,
    ]);
    expect(hashes).toMatchObject(Object.fromEntries(expected));
    expect(Object.keys(hashes).length).toBe(store.objects.length + 2);

    const extractors = {
      tar: [
        ['tar', '-xf', file, '-C'],
        ['bsdtar', '-xf', file, '-C'],
        ['7zz', 'x', '-bd', file, '-o'],
      ],
      zip: [
        ['unzip', '-q', file, '-d'],
        ['bsdtar', '-xf', file, '-C'],
        ['7zz', 'x', '-bd', file, '-o'],
      ],
    }[kind];
    for (const [index, [command = '', ...args]] of extractors.entries()) {
      const target = join(folder, `out${index}`);
      mkdirSync(target);
      const last = args.at(-1) ?? '';
      const own = last === '-o' ? [...args.slice(0, -1), `-o${target}`] : [...args, target];
      await runTool(folder, command, ...own);
      expect(hashesBelow(target), command).toEqual(hashes);
    }
  });

  const few = (count: number) => Array.from({ length: count }, () => 3);
  const limitOf = { tar: 8 * gibibyte, zip: 4 * gibibyte };

  /** Sizes of files, of which one has the limit of a format or one byte less or more, or begins there. */
  function* sizesAtLimits(kind: 'tar' | 'zip'): Generator<number[]> {
    const limit = limitOf[kind];
    for (const size of [-2, -1, 0, 1].map((more) => limit + more)) {
      yield [size, 5];
      yield [9 * gibibyte, size, 5];
    }
    if (kind === 'tar') return;
    // unzip reads the directory 64 files at a time.
    for (let before = 59; before < 64; before += 1) {
      yield [...few(before), limit - 1, ...few(70), 5];
      yield [9 * gibibyte, ...few(before), limit - 1, ...few(70), 5];
    }
    const start = layoutOf(zeroObjects([5, 5]), formats.zip).boundsAt(3).headStart - 5;
    for (const more of [-2, -1, 0, 1]) yield [limit + more - start, 5, 5];
  }

  const sizesOf = (['tar', 'zip'] as const).flatMap((kind) =>
    [...sizesAtLimits(kind)].map((sizes) => ({
      kind,
      sizes,
      title: sizes.join(' ').replaceAll(/\b(3 )+/g, '… '),
    })),
  );
  it.each(sizesOf)('$kind: at the limit of a field: $title', async ({ kind, sizes }) => {
    const folder = tempFolder();
    const file = join(folder, `large.${kind}`);
    const layout = await writeSparse(file, zeroObjects(sizes), formats[kind]);
    const last = layout.entryAt(sizes.length + 1).name;
    const listed = JSON.parse(await runTool(folder, 'python3', '-c', pythonList, file));
    expect(listed).toMatchObject({ count: sizes.length + 2, last: [last, 5], read: 5 });
    const readers = {
      tar: { list: ['tar', '-tvf'], read: ['tar', '-xOf'] },
      zip: { list: ['unzip', '-l'], read: ['unzip', '-p'] },
    }[kind];
    for (const { list, read } of [
      readers,
      { list: ['bsdtar', '-tvf'], read: ['bsdtar', '-xOf'] },
      { list: ['7zz', 'l'], read: ['7zz', 'x', '-so'] },
    ]) {
      const [[lister = '', ...listing], [reader = '', ...reading]] = [list, read];
      const lines = (await runTool(folder, lister, ...listing, file)).split('\n');
      for (const [index, size] of sizes.entries()) {
        const line = lines.find((each) => each.includes(layout.entryAt(2 + index).name)) ?? '';
        expect(line.split(/\s+/), lister).toContain(String(size));
      }
      expect(await runTool(folder, reader, ...reading, file, last), reader).toBe('\0'.repeat(5));
    }
  });

  // A zip has other fields from 65,535 on.
  const counts = process.env['NIGHTLY'] ? [65_534, 65_535, 65_536, 65_537, 70_000] : [65_534, 65_535];
  it.each([
    { kind: 'tar' as const, count: 70_000 },
    ...counts.map((count) => ({ kind: 'zip' as const, count })),
  ])('$kind: $count files', async ({ kind, count }) => {
    const folder = tempFolder();
    const file = join(folder, `many.${kind}`);
    const layout = await writeSparse(file, zeroObjects(few(count - 2)), formats[kind]);
    const last = layout.entryAt(count - 1).name;
    const listed = JSON.parse(await runTool(folder, 'python3', '-c', pythonList, file));
    expect(listed).toMatchObject({ count, last: [last, 3], read: 3 });
    const lists = { tar: ['tar', 'bsdtar'], zip: ['bsdtar'] }[kind];
    for (const command of lists) {
      const names = (await runTool(folder, command, '-tf', file)).trimEnd().split('\n');
      expect([names.length, names.at(-1)], command).toEqual([count, last]);
    }
    if (kind === 'zip') expect(await runTool(folder, 'unzip', '-l', file)).toMatch(`${count} files`);
    expect(await runTool(folder, '7zz', 'l', file)).toMatch(`${count} files`);
  });
});

describeWithGitLfs('an archive makes a clone complete', () => {
  const tempFolder = useTempFolders();

  // The commands of docs/migrate.md.
  const extractors = {
    tar: ['tar', '-x', '-C', '.git', '-f', '../export.tar'],
    zip: ['unzip', '-q', '-d', '.git', '../export.zip'],
  };

  it.each(['tar', 'zip'] as const)('%s, without a server', async (kind) => {
    const home = tempFolder();
    const git = async (folder: string, args: readonly string[], env: Record<string, string> = {}) => {
      const ended = await run('git', args, {
        cwd: join(home, folder),
        env: { ...gitEnvironment(home), ...env },
        timeoutMs: 60_000,
      });
      if (ended.code !== 0) throw new Error(`git ${args.join(' ')}:\n${ended.out}\n${ended.err}`);
      return ended.out + ended.err;
    };
    writeFileSync(
      join(home, '.gitconfig'),
      '[user]\nname = Ada\nemail = ada@example.com\n[lfs]\nurl = http://127.0.0.1:9/nobody\n',
    );
    await git('', ['lfs', 'install', '--skip-repo']);
    await git('', ['init', '-q', 'origin']);
    await git('origin', ['lfs', 'track', '*.bin']);
    const versions = [1, 2].map((version) =>
      Array.from({ length: 12 }, (_, file) =>
        Buffer.alloc(200_000 * file, `version ${version} of ${file}, `),
      ),
    );
    for (const [version, contents] of versions.entries()) {
      for (const [file, content] of contents.entries())
        writeFileSync(join(home, 'origin', `${file}.bin`), content);
      await git('origin', ['add', '.']);
      await git('origin', ['commit', '-q', '-m', `version ${version}`]);
    }
    // An empty file is no object of git-lfs.
    const store = contentStore(versions.flat().filter(({ length }) => length > 0));
    writeFileSync(join(home, `export.${kind}`), archiveOf(store, formats[kind]));

    await git('', ['clone', '-q', 'origin', 'clone'], { GIT_LFS_SKIP_SMUDGE: '1' });
    expect(readFileSync(join(home, 'clone', '3.bin'), 'utf8')).toMatch(/^version https:\/\/git-lfs/);
    const [command = '', ...args] = extractors[kind];
    await runTool(join(home, 'clone'), command, ...args);
    await git('clone', ['lfs', 'checkout']);
    for (const [file, content] of (versions[1] ?? []).entries())
      expect(readFileSync(join(home, 'clone', `${file}.bin`)).equals(content), `${file}`).toBe(true);
    expect(await git('clone', ['lfs', 'fsck'])).toMatch(/Git LFS fsck OK/);
    expect(await git('clone', ['status', '--porcelain'])).toBe('');
    await git('clone', ['checkout', '-q', 'HEAD~1']);
    for (const [file, content] of (versions[0] ?? []).entries())
      expect(readFileSync(join(home, 'clone', `${file}.bin`)).equals(content), `${file}`).toBe(true);
  });
});
