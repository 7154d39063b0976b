import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Cleanup } from '../../local/cleanup.ts';
import { makeAlike } from './alike.ts';
import type { PushCase } from './cases.ts';
import type { Certificate } from './certificate.ts';
import type { DoorProcess } from './door-process.ts';
import { checkPulled, type GitClient, lfsObjectsOf, type Remote } from './git-client.ts';
import type { Latencies } from './latency.ts';
import { cpuMsOfTree } from './process-cpu.ts';
import { type Phase, type Sample, sampleOf } from './sample.ts';
import type { RunningServer, ServerKind } from './server.ts';
import type { RunningStore, StoreKindOfRun } from './store.ts';

/** What all rounds share. */
export interface Workshop {
  /** Removed at the end of the run, with all that is in it. */
  readonly folder: string;
  readonly client: GitClient;
  readonly store: StoreKindOfRun;
  readonly apiDoor: DoorProcess;
  readonly storeDoor: DoorProcess;
  /** A repository with a few small files, pushed and pulled before anything is measured. */
  readonly warmUpSource: string;
  readonly certificate: Certificate;
}

/** What warms a server up: the code has run, connections to the store exist. */
export const warmUpCase: PushCase = { name: 'warm-up', files: 20, fileBytes: 4_000 };

/** The folder of a round's store, in that of the round. */
const storeFolderName = 'store';

interface Round {
  readonly server: ServerKind;
  readonly case: PushCase;
  /** A repository with the case's files. */
  readonly source: string;
  readonly latencies: Latencies;
  /** Unique within the run. */
  readonly id: string;
}

/** One server, freshly started on an empty store, through all phases. */
export async function measureRound(shop: Workshop, round: Round): Promise<ReadonlyMap<Phase, Sample>> {
  const cleanup = new Cleanup();
  const folder = join(shop.folder, round.id);
  try {
    mkdirSync(folder);
    cleanup.add(() => rmSync(folder, { recursive: true, force: true }));
    return await measureIn(folder, { shop, round, cleanup });
  } finally {
    await cleanup.run();
  }
}

async function measureIn(
  folder: string,
  { shop, round, cleanup }: { shop: Workshop; round: Round; cleanup: Cleanup },
): Promise<ReadonlyMap<Phase, Sample>> {
  const { client } = shop;
  const { store, server, apiUrl } = await start(folder, { shop, round, cleanup });
  const remoteFor = (repo: string): Remote => ({
    name: `${round.id}-${repo}`,
    gitFolder: join(folder, `${repo}.git`),
    lfsUrl: `${apiUrl}${round.server.lfsPath(repo)}`,
  });
  if (server.token !== undefined) client.setToken(apiUrl, server.token);

  const warm = remoteFor('warm-up');
  await client.addRemote(shop.warmUpSource, warm);
  cleanup.add(() => client.removeRemote(shop.warmUpSource, warm));
  await client.push(shop.warmUpSource, warm);
  await client.clone(warm, join(folder, 'warm-clone'));
  await client.pull(join(folder, 'warm-clone'));
  await server.settle();

  const [remote, clone] = [remoteFor('repo'), join(folder, 'clone')];
  await client.addRemote(round.source, remote);
  cleanup.add(() => client.removeRemote(round.source, remote));
  const samples = new Map<Phase, Sample>();
  const during = async (phase: Phase, reads: string, work: () => Promise<void>) => {
    await makeAlike({ flushed: folder, warmed: [reads] });
    samples.set(phase, await measure({ shop, round, store, server }, work));
  };
  const [pushed, stored] = [lfsObjectsOf(round.source), join(folder, storeFolderName)];
  await during('push', pushed, () => client.push(round.source, remote));
  // The recount that a push asks for, before anything else: its requests must not count as another phase's.
  if (round.server.settles) await during('recount', stored, () => server.settle());
  if (round.server.knowsStored)
    await during('push again', pushed, () => client.pushAgain(round.source, remote));
  await client.clone(remote, clone);
  await during('pull', stored, () => client.pull(clone));
  checkPulled(clone, round.case);
  return samples;
}

async function start(
  folder: string,
  { shop, round, cleanup }: { shop: Workshop; round: Round; cleanup: Cleanup },
): Promise<{ store: RunningStore; server: RunningServer; apiUrl: string }> {
  const { latencies } = round;
  const [storeFolder, serverFolder] = [join(folder, storeFolderName), join(folder, 'server')];
  for (const path of [storeFolder, serverFolder]) mkdirSync(path);
  const store = await shop.store.start(storeFolder);
  cleanup.add(() => store.stop());
  const { file: certificateFile, ...pem } = shop.certificate;
  const isHttps = round.server.needsHttps === true;
  const storePort = await shop.storeDoor.call('open', {
    to: 'store',
    targetPort: store.port,
    latencies,
    tls: isHttps ? pem : undefined,
  });
  // A server that ends in peace waits for idle connections: versitygw until it is killed, ten seconds.
  cleanup.add(() => shop.storeDoor.call('close'));
  const storeUrl = isHttps ? `https://localhost:${storePort}` : `http://127.0.0.1:${storePort}`;
  const server = await round.server.start({ storeUrl, certificateFile, folder: serverFolder });
  cleanup.add(() => server.stop());
  const apiPort = await shop.apiDoor.call('open', { to: 'api', targetPort: server.port, latencies });
  cleanup.add(() => shop.apiDoor.call('close'));
  return { store, server, apiUrl: `http://127.0.0.1:${apiPort}` };
}

async function measure(
  running: { shop: Workshop; round: Round; store: RunningStore; server: RunningServer },
  work: () => Promise<void>,
): Promise<Sample> {
  const { shop, round, store, server } = running;
  const look = async () => ({
    seenByApi: await shop.apiDoor.call('take'),
    seenByStore: await shop.storeDoor.call('take'),
    queueSends: await server.takeQueueSends(),
    serverCpuMs: cpuMsOfTree(server.pid),
    storeCpuMs: cpuMsOfTree(store.pid),
  });
  const before = await look();
  const beganMs = performance.now();
  await work();
  const wallMs = performance.now() - beganMs;
  const after = await look();
  return sampleOf({
    ...after,
    wallMs,
    serverCpuMs: after.serverCpuMs - before.serverCpuMs,
    storeCpuMs: after.storeCpuMs - before.storeCpuMs,
    isPriced: !round.server.isPeer,
  });
}
