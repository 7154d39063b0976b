import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { benchRequests } from './requests.ts';

type Bench = (print: (text: string) => void, options: readonly string[]) => Promise<unknown>;

const benches: Readonly<Record<string, () => Promise<Bench>>> = {
  bodies: async () => (await import('./bodies.ts')).benchBodies,
  crowd: async () => (await import('./embedded/crowd.ts')).benchCrowd,
  export: async () => (await import('./export/bench-export.ts')).benchExport,
  'export-workers': async () => (await import('./export/bench-export-workers.ts')).benchExportWorkers,
  functions: async () => (await import('./functions/bench-functions.ts')).benchFunctions,
  giant: async () => (await import('./giant/bench-giant.ts')).benchGiant,
  'giant-workers': async () => (await import('./giant/bench-giant-workers.ts')).benchGiantWorkers,
  'giant-repo': async () => (await import('./giant/bench-giant-repo.ts')).benchGiantRepo,
  heads: async () => (await import('./heads/bench-heads.ts')).benchHeads,
  heavy: async () => (await import('./heavy/bench-heavy.ts')).benchHeavy,
  neighbour: async () => (await import('./embedded/neighbour.ts')).benchNeighbour,
  peers: async () => (await import('./scan/bench-peers.ts')).benchPeers,
  push: async () => (await import('./push/bench-push.ts')).benchPush,
  refresh: async () => (await import('./refresh/bench-refresh.ts')).benchRefresh,
  requests: async () => benchRequests,
  scan: async () => (await import('./scan/bench-scan.ts')).benchScan,
  shapes: async () => (await import('./shapes.ts')).benchShapes,
  shards: async () => (await import('./giant/bench-shards.ts')).benchShards,
  sign: async () => (await import('./sign.ts')).benchSign,
};

const print = (text: string) => void process.stdout.write(`${text}\n`);
const [name = '', ...options] = process.argv.slice(2);
const bench = await benches[name]?.();
if (!bench) {
  process.stderr.write(`Which benchmark? npm run bench -- ${Object.keys(benches).join(' | ')}\n`);
  process.exit(2);
}
const result = await bench(print, options);
const folder = new URL('out/', import.meta.url);
mkdirSync(folder, { recursive: true });
const file = new URL(`${name}.json`, folder);
const machine = { node: process.version, date: new Date().toISOString() };
writeFileSync(
  file,
  `${JSON.stringify({ ...machine, command: `npm run bench -- ${[name, ...options].join(' ')}`, result }, null, 1)}\n`,
);
print(`Written to ${fileURLToPath(file)}`);
