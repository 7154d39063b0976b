import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cleanup } from '../../local/cleanup.ts';
import { Child } from '../child/child.ts';
import { makeCertificate } from './certificate.ts';
import { addToEarlier, readEarlier } from './earlier-run.ts';
import { GitClient } from './git-client.ts';
import { latenciesOf } from './latency.ts';
import { measureAll } from './measure-all.ts';
import { type Workshop, warmUpCase } from './measure-round.ts';
import { readOptions } from './options.ts';
import { presignOnly } from './presign-server.ts';
import { chooseServers } from './servers.ts';
import { chooseStore, type StoreKindOfRun } from './store.ts';
import { summarize } from './summary.ts';
import { formatFailures, formatSummaries } from './table.ts';

type Print = (text: string) => void;

/** The real git-lfs against this project's API, a bound, and servers of others, on the same kind of store. */
export async function benchPush(print: Print, args: readonly string[]): Promise<unknown> {
  const options = readOptions(args);
  // Before the run, which would be in vain if the file were none.
  const earlier = options.add === undefined ? [] : readEarlier(options.add);
  // The SDK would warn about Node 20 in every process.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true';
  const cleanup = new Cleanup();
  endOnSignals();
  try {
    const store = chooseStore();
    const { servers, missing } = await chooseServers(options, { store, print });
    const shop = await openWorkshop(store, cleanup);
    print(
      `${await shop.client.version()}; store: ${shop.store.name}; ${cpus().length} cores, ${cpus()[0]?.model}, ` +
        `Node ${process.version}\n` +
        `Each round begins with the next server; the first with ${servers[0]?.name}.\n`,
    );
    const { measured, notes } = await measureAll(shop, { options, servers, print });
    const summaries = addToEarlier(earlier, summarize(measured, presignOnly.name));
    print(`\n${formatSummaries(summaries)}\n`);
    for (const line of formatFailures(summaries)) print(line);
    const leftOut = [...missing, ...notes];
    for (const line of leftOut) print(line);
    return { store: shop.store.name, latenciesOf, leftOut, summaries };
  } finally {
    await cleanup.run();
  }
}

/** Folder, client and doors of a run. */
async function openWorkshop(store: StoreKindOfRun, cleanup: Cleanup): Promise<Workshop> {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-push-'));
  // Processes that were killed just now may still write: several tries.
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  process.once('exit', remove);
  cleanup.add(() => {
    remove();
    process.off('exit', remove);
  });
  const door = async () => {
    const child: Workshop['apiDoor'] = await Child.fork(new URL('door-process.ts', import.meta.url));
    cleanup.add(() => child.end());
    return child;
  };
  const [apiDoor, storeDoor] = [await door(), await door()];
  const client = await GitClient.create(join(folder, 'home'));
  const warmUpSource = join(folder, 'warm-up');
  await client.createSource(warmUpSource, warmUpCase);
  const certificate = makeCertificate(folder);
  return { folder, client, store, apiDoor, storeDoor, warmUpSource, certificate };
}

/** Ends through `exit`, which stops the servers and removes the folders. */
function endOnSignals(): void {
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
}
