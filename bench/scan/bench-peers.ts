import { formatNumber, formatTable } from '../../cost/tables.ts';
import { Child } from '../child/child.ts';
import { readNumbers } from '../giant/options.ts';
import type { ListServerProcess } from '../list-server/process.ts';
import { installedTools, runTool, toolNames } from './external-tools.ts';
import type { SubjectKind } from './subject.ts';
import { bundleSubjects, startSubject } from './subject-process.ts';

/** How many times less CPU a key this scan should take than any other way. */
const timesLess = 12;

interface Peer {
  readonly name: string;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly requests: number;
}

/**
 * CPU time of one count of the same path, each in a new process, on the same list server. Node's start is left out, all
 * that a process compiles while it counts is not.
 */
export async function benchPeers(
  print: (text: string) => void,
  options: readonly string[],
): Promise<unknown> {
  const { keys } = readNumbers(options, { keys: 300_000 });
  await bundleSubjects();
  const server: ListServerProcess = await Child.fork(new URL('../list-server/process.ts', import.meta.url));
  const bytes = await server.call('prepare', keys);
  const peers: Peer[] = [];
  const measure = async (name: string, run: () => Promise<Omit<Peer, 'name' | 'requests'> & Counted>) => {
    await server.call('behave', {});
    const { wallMs, cpuMs, objects, bytes: counted } = await run();
    if (objects !== keys || counted !== bytes) throw new Error(`${name} counted ${objects} of ${keys} keys.`);
    peers.push({ name, wallMs, cpuMs, requests: (await server.call('stats')).requests });
  };
  const subjects: readonly (readonly [SubjectKind, string])[] = [
    ['hint', 'this scan, hinted'],
    ['probe', 'this scan, nothing known'],
    ['sdk', 'AWS SDK for JavaScript, paginator'],
  ];
  for (const [kind, name] of subjects) {
    await measure(name, async () => {
      const process = await startSubject(kind, server.ready);
      const run = await process.call('run', { bucket: `n${keys}`, objects: keys });
      await process.end();
      return run;
    });
  }
  const tools = installedTools();
  for (const tool of tools)
    await measure(tool.name, () => runTool(tool, { endpoint: server.ready, bucket: `n${keys}` }));
  await server.end();
  const missing = toolNames.filter((name) => !tools.some((tool) => tool.name === name));
  if (missing.length > 0) print(`Not on the PATH: ${missing.join(', ')}.\n`);
  print(peersTable(peers, keys));
  return { keys, peers };
}

interface Counted {
  readonly objects: number;
  readonly bytes: number;
}

function peersTable(peers: readonly Peer[], keys: number): string {
  const [ours] = peers;
  const rows = peers.map(({ name, wallMs, cpuMs, requests }) => {
    const times = cpuMs / (ours?.cpuMs ?? Number.NaN);
    const isOurs = name.startsWith('this scan');
    return [
      name,
      ((cpuMs * 1000) / keys).toFixed(2),
      times.toFixed(1),
      (wallMs / 1000).toFixed(1),
      formatNumber(requests),
      isOurs ? '' : times >= timesLess ? 'reached' : 'NOT reached',
    ];
  });
  const header = ['', 'CPU µs a key', '×', 'seconds', 'requests', `≥ ${timesLess} ×`];
  return `${formatNumber(keys)} keys, no latency, each in a new process\n${formatTable(header, rows)}\n`;
}
