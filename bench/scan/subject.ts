import { paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { GroupSums, groupings, readsFor } from '../../cli/du/groups.ts';
import { systemClock } from '../../lambda/aws/clock-and-ids.ts';
import { runReconcile } from '../../lambda/ledger/run-reconcile.ts';
import { defaultSettings } from '../../lambda/rules/settings.ts';
import { ScanListing } from '../../lambda/scan/list-objects.ts';
import { createPathScan } from '../../lambda/scan/path-scan.ts';
import type { PathScanInput } from '../../lambda/scan/rules/scan-plan.ts';
import { BucketClient } from '../../lambda/store/bucket-client.ts';
import { createObjectStore } from '../../lambda/store/object-store.ts';
import { seamsOf } from '../../lambda/subjects.ts';
import { noMetrics } from '../../local/lambda-context.ts';
import { storesOn } from '../../local/table/table.ts';
import { repo, seededTable, tableName, tenant } from '../functions/seed.ts';
import { ownCpuMs, peakMemoryMb, serve } from '../serve.ts';

/**
 * Ways to count a path in a process of this project: its scan, with and without an estimate, the reconciles of a large repo, and
 * the SDK.
 */
export type SubjectKind = 'hint' | (typeof groupings)[number] | 'probe' | 'sixteen' | 'shards' | 'sdk';

/** What one count gave, and what it needed. */
export interface Counted {
  readonly objects: number;
  readonly bytes: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Largest resident memory of the process so far. */
  readonly peakMb: number;
}

const prefix = `${tenant}/${repo}/`;
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench-secret' };
const [kind, endpoint = '', bucket = ''] = process.argv.slice(2) as [SubjectKind, string, string];
const place = { region: 'us-east-1', endpoint, forcePathStyle: true };

type CountOutcome = Pick<Counted, 'objects' | 'bytes'>;

const bucketClient = () => new BucketClient({ ...place, bucket, credentials: async () => credentials });

function createScan(): (objects: number) => Promise<CountOutcome> {
  const listing = new ScanListing({ client: bucketClient() });
  const scan = createPathScan({ listing, clock: systemClock, settings: defaultSettings });
  return async (objects) => {
    const strategy = kind === 'probe' || kind === 'sixteen' ? { kind } : { kind: 'hint' as const, objects };
    const by = groupings.filter((each) => each === kind);
    const groups = by.map((each) => new GroupSums({ by: each, nowMs: Date.now() }));
    const onPart: PathScanInput['onPart'] = (part) => groups.forEach((sums) => void sums.add(part));
    const outcome = await scan.scan({ prefix, strategy, reads: readsFor(by), onPart });
    if (outcome.kind !== 'done') throw new Error('The scan did not finish.');
    return { objects: outcome.objectCount, bytes: outcome.storedBytes };
  };
}

/** What the function reconcile has of its five minutes. */
const runMs = 295_000;

/** First counts of a large repo by runs of the function reconcile, over a table in memory. */
function createShards(): (objects: number) => Promise<CountOutcome> {
  const client = bucketClient();
  const listing = new ScanListing({ client });
  // At no rate, so that the function alone decides how fast it is.
  const settings = { ...defaultSettings, shardListsPerHour: 10_000_000 };
  const nothing = async () => undefined;
  return async (objects) => {
    const table = { client: await seededTable(objects), tableName };
    const ports = {
      ...storesOn(table),
      listing,
      scan: createPathScan({ listing, clock: systemClock, settings }),
      store: createObjectStore({ client, clock: systemClock }),
      archives: { put: nothing, get: nothing },
      clock: systemClock,
      ids: { random: (length: number) => 'x'.repeat(length) },
      log: { ...console, info: nothing },
      metrics: noMetrics,
      queue: { request: nothing, requestAll: nothing },
      settings,
    };
    const deps = { ...ports, ...seamsOf(ports) };
    await deps.ledger.markDirty({ tenant, repo, dirtyToken: 'bench' });
    const request = { tenant, reason: 'manual' as const, full: false };
    do await runReconcile(deps, { request, deadlineMs: systemClock.nowMs() + runMs });
    while ((await deps.ledger.readRepo({ tenant, repo }))?.large?.progress);
    const { scanned } = (await deps.ledger.readTenant(tenant)) ?? {};
    return { objects: scanned?.objectCount ?? 0, bytes: scanned?.storedBytes ?? 0 };
  };
}

/** The SDK's paginator, used as its documentation shows. */
function createSdk(): () => Promise<CountOutcome> {
  const client = new S3Client({ ...place, credentials });
  return async () => {
    let objects = 0;
    let bytes = 0;
    for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })) {
      for (const { Size = 0 } of page.Contents ?? []) {
        objects += 1;
        bytes += Size;
      }
    }
    return { objects, bytes };
  };
}

const count = kind === 'sdk' ? createSdk() : kind === 'shards' ? createShards() : createScan();

const api = {
  count: async (objects: number): Promise<Counted> => {
    const [cpu, startedMs] = [process.cpuUsage(), performance.now()];
    const counted = await count(objects);
    const wallMs = performance.now() - startedMs;
    return { ...counted, wallMs, cpuMs: ownCpuMs(cpu), peakMb: peakMemoryMb() };
  },
};

export type SubjectApi = typeof api;

serve(api);
