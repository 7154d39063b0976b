import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { packCli } from '../crowd/subjects.ts';
import { installed } from '../peers.ts';
import { inFolder } from '../processes.ts';
import { type Column, digits, optionsOf, tableOf } from '../statistics.ts';
import {
  casesOf,
  giftless,
  inWorkshop,
  ours,
  type Print,
  type ServerKind,
  startServers,
  timed,
  type Workshop,
} from './bench-push.ts';

/** One move from a server to a fresh one of ours, in each way. */
interface Moved {
  readonly fetchMs: number;
  readonly pushMs: number;
  readonly importMs: number;
  /** Of the clone after the import, and after the fetch. */
  readonly importDiskMb: number;
  readonly fetchDiskMb: number;
}

/**
 * An `lfs-quota import` beside `git lfs fetch --all` and `git lfs push --all`: from giftless, and from a second stack of
 * ours, to a fresh one. × is the ratio of the import to the slower one of the two.
 *
 * Options: `--cases=small,large`, `--latency=on|off` (on), `--mbit=N` (600; 0: at full speed) between the client and each
 * store, each way, `--rounds=N` (3), `--scale=F` (1): the share of the files.
 */
export async function benchMove(print: Print, options: readonly string[]): Promise<void> {
  const values = optionsOf(options, {
    cases: 'small,large',
    latency: 'on',
    mbit: '600',
    rounds: '3',
    scale: '1',
  });
  await inWorkshop(print, async (shop) => {
    const program = await packCli(join(shop.folder, 'program'));
    const sources = [ours, ...installed([giftless], print)];
    for await (const { one, source } of casesOf(shop, values)) {
      const rows: { name: string; samples: Moved[] }[] = [];
      for (const from of sources) {
        const samples: Moved[] = [];
        const model = { isFar: values.latency === 'on', bytesPerSecond: (Number(values.mbit) * 1e6) / 8 };
        for (let round = 0; round < Number(values.rounds); round += 1)
          samples.push(await measureMove({ ...shop, program }, { from, source, model }));
        rows.push({ name: `from ${from.name}`, samples });
      }
      print(
        `${digits(one.files)} × ${digits(one.fileBytes / 1000)} kB, latency ${values.latency}, ${values.mbit} Mbit/s`,
      );
      print(`${tableOf(columns, rows)}\n`);
    }
  });
}

const columns: Column<Moved>[] = [
  ['fetch, s', ({ fetchMs }) => fetchMs / 1000],
  ['push, s', ({ pushMs }) => pushMs / 1000],
  ['import, s', ({ importMs }) => importMs / 1000],
  ['× slower', ({ importMs, fetchMs, pushMs }) => importMs / Math.max(fetchMs, pushMs)],
  ['disk, MB', ({ importDiskMb }) => importDiskMb],
  ['of fetch', ({ fetchDiskMb }) => fetchDiskMb],
  ['rounds, s', ({ importMs }) => importMs / 1000, 'all'],
];

async function measureMove(
  shop: Workshop & { readonly program: string },
  {
    from,
    source,
    model,
  }: { from: ServerKind; source: string; model: { isFar: boolean; bytesPerSecond: number } },
): Promise<Moved> {
  const { user, program } = shop;
  return inFolder(async (folder, cleanup) => {
    const [old, pushed, imported] = await Promise.all(
      [from, ours, ours].map(async (server, at) => {
        const place = join(folder, String(at));
        mkdirSync(place);
        const started = await startServers(shop, { server, ...model, folder: place, cleanup });
        return { ...started, lfsUrl: started.apiUrl + server.lfsPath('repo') };
      }),
    );
    if (!old || !pushed || !imported) throw new Error('A server is missing.');
    const remote = `file://${join(folder, 'remote')}.git`;
    await user.git(folder, 'init', '--quiet', '--bare', 'remote.git');
    await user.setToken({ url: old.apiUrl, token: old.token });
    await user.git(source, '-c', `lfs.url=${old.lfsUrl}`, 'push', '--quiet', remote, 'main');
    await user.git(folder, 'clone', '--quiet', '--mirror', remote, 'mirror.git');
    const mirror = join(folder, 'mirror.git');
    const emptyMb = megabytesOf(mirror);
    const target = { LFS_QUOTA_URL: imported.apiUrl, LFS_QUOTA_TOKEN: imported.token };
    const line = `'${program}' import bench repo --from '${old.lfsUrl}' --clone .`;
    const importMs = await timed(shop, mirror, line, target);
    const importDiskMb = megabytesOf(mirror) - emptyMb;
    const fetchMs = await timed(shop, mirror, `git -c 'lfs.url=${old.lfsUrl}' lfs fetch --all`);
    const fetchDiskMb = megabytesOf(mirror) - emptyMb;
    await user.setToken({ url: pushed.apiUrl, token: pushed.token });
    const pushMs = await timed(shop, mirror, `git -c 'lfs.url=${pushed.lfsUrl}' lfs push --all origin`);
    return { fetchMs, pushMs, importMs, importDiskMb, fetchDiskMb };
  });
}

const megabytesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0) / 1e6;
