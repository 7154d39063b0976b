import { UploadGoneError } from '../../../../lambda/core/store/rules/archive-store.ts';
import { claimedForMs } from '../../../../lambda/subjects/files/rules/part-upload.ts';
import type { Code } from '../../code.ts';
import { Violation } from '../../invariants.ts';
import type { SimDeps } from '../../ports.ts';
import type { UploadPlan } from '../../scenario.ts';
import type { AskedInParts } from '../../subject.ts';
import type { TenantWorld } from '../../tenant-world.ts';
import type { World } from '../../world.ts';
import type { files } from './code.ts';
import { PartWatch } from './part-watch.ts';

const minute = 60_000;
const hour = 60 * minute;

/** Of the version that is invoked. */
const its = (version: Code) => version as Code & (typeof files)['code'];

type Part = Awaited<ReturnType<(typeof files)['code']['partsBody']>>[number];

/** By tenant of a run. */
const watches = new WeakMap<TenantWorld['truth'], PartWatch>();

/** Files above what one PUT carries are uploaded in parts from now on. */
export function beginInParts(world: World): void {
  const watch = new PartWatch(world);
  for (const { truth } of world.accounts) watches.set(truth, watch);
}

/** An upload as its client has it. */
interface Ticket {
  readonly repo: string;
  readonly name: string;
  readonly upload: string;
  readonly parts: readonly Part[];
}

/** What a client does with an upload that it has got. */
const ways = [
  'completes',
  'completes',
  'completes',
  'completes-twice',
  'leaves',
  'cancels',
  'asks-again',
] as const;

/**
 * How a client asks for files of which some are larger than one PUT carries, and what it does with their uploads.
 *
 * @returns undefined: none is.
 */
export function askInParts(
  world: TenantWorld,
  { repo, objects }: { repo: string; objects: ReadonlyMap<string, number> },
): AskedInParts | undefined {
  const { tenant, truth, settings } = world;
  const watch = watches.get(truth);
  const chunked = new Set(
    [...objects].flatMap(([name, size]) => (size > settings.objectBytesMax ? [name] : [])),
  );
  if (!watch || chunked.size === 0 || !truth.files.has(repo)) return undefined;
  const lifetimeMs = settings.urlLifetimeMs;
  const bodies = new Map<string, { multipartId: string; parts: readonly Part[] }>();
  let way: ReturnType<(typeof files)['code']['partsWay']> | undefined;
  return {
    asked: {
      chunked,
      with: (deps, code) => {
        way = its(code).partsWay(deps, { lifetimeMs });
        return { ...deps, way };
      },
      sign: async (deps, code) => {
        for (const [name, sent] of way?.sent ?? []) {
          const parts = await its(code).partsBody(deps, sent, lifetimeMs);
          bodies.set(name, { multipartId: sent.upload.multipartId, parts });
        }
      },
      onChunks: (name) => {
        const { multipartId: uploadId = '' } = bodies.get(name) ?? {};
        watch.hold(truth, { uploadId, key: `${tenant}/${repo}/${name}` }, objects.get(name) ?? 0);
      },
    },
    send: (name, upload, plan) => {
      const { parts = [] } = bodies.get(name) ?? {};
      return sendParts(world, { repo, name, upload, parts }, plan);
    },
  };
}

/** @returns whether the client asks for it again. */
async function sendParts(world: TenantWorld, ticket: Ticket, plan: UploadPlan): Promise<boolean> {
  const { random } = world;
  if (plan === 'never') return false;
  const way = random.pick(ways);
  const isLeft = (part: Part) => part.stored || (way !== 'completes' && random.chance(0.3));
  await Promise.all(ticket.parts.filter((part) => !isLeft(part)).map((part) => putPart(world, part, plan)));
  switch (way) {
    case 'leaves':
      return false;
    case 'cancels':
      await cancelInParts(world, ticket.repo, ticket.name);
      return false;
    case 'asks-again':
      // It died, and somebody starts it again.
      await world.wait(random.pick([1_000, 10 * minute, 3 * hour, 25 * hour]));
      return true;
    case 'completes-twice':
      world.start(random.int(0, 200), async () => void (await complete(world, ticket)));
      return complete(world, ticket);
    case 'completes':
      return complete(world, ticket);
  }
}

/** The store takes exactly as many bytes as the URL was signed for, if the PUT begins before it expires. */
async function putPart(world: TenantWorld, part: Part, plan: UploadPlan): Promise<void> {
  const { random, scheduler, settings } = world;
  if (part.url === undefined) return;
  const {
    key,
    part: at,
    sizeBytes,
    expiresAtMs,
  } = JSON.parse(part.url) as {
    key: string;
    part: { uploadId: string; number: number };
    sizeBytes: number;
    expiresAtMs: number;
  };
  const leftMs = Math.max(0, expiresAtMs - scheduler.nowMs);
  const isLate = plan === 'last-moment' || plan === 'trickled' || random.chance(0.05);
  await world.wait(
    isLate ? Math.max(0, leftMs - random.int(0, 2_000)) : random.int(0, plan === 'soon' ? 120_000 : 100),
  );
  if (plan === 'after-expiry') await world.wait(leftMs);
  if (scheduler.nowMs > expiresAtMs) return;
  const longestMs = settings.putGraceMs + Math.floor((sizeBytes / settings.putMinBytesPerSecond) * 1000);
  const takes = world.hasTricklers && random.chance(0.3) ? 20 * hour : random.chance(0.2) ? longestMs : 2_000;
  const ends = async (withinMs: number) => {
    await world.wait(random.int(1, withinMs));
    // Its connection breaks.
    if (random.chance(0.05)) return;
    try {
      const bytes = new Uint8Array(sizeBytes).fill(random.int(0, 255));
      await world.archives.uploadPart({ key, uploadId: at.uploadId }, { number: at.number, bytes });
    } catch (error) {
      // HTTP 404.
      if (!(error instanceof UploadGoneError)) throw error;
    }
  };
  // A URL can be used again, and stores another part in the place of the first.
  if (random.chance(0.1)) world.start(0, () => ends(takes));
  await ends(takes);
}

/** @returns whether parts are missing, for which the client asks again. */
async function complete(world: TenantWorld, { repo, name, upload }: Ticket): Promise<boolean> {
  const { tenant, random } = world;
  for (let tries = 0; tries < 4; tries += 1) {
    const outcome = await world.invoke((deps, code) =>
      its(code).completeUpload(deps, { tenant, repo, name, upload }),
    );
    if (typeof outcome === 'object') return typeof outcome.answer !== 'string' && random.chance(0.7);
    await world.wait(random.int(500, 10_000));
  }
  return false;
}

/** Somebody cancels the uploads of a name. */
export async function cancelInParts(world: TenantWorld, repo: string, name: string): Promise<void> {
  const { tenant } = world;
  await world.invoke(
    async (deps, code) => {
      for await (const page of deps.ledger.reservationsOf({ tenant, repo, ofUploads: true }))
        for (const { id: uploadId, entries } of page)
          if (entries.has(name))
            await its(code).cancelUploads(deps, { tenant, repo, uploadId, name, token: undefined });
    },
    { mayOutlive: false },
  );
}

export const wakeInParts = (deps: SimDeps, code: Code) => its(code).wakeFileParts(deps);

/** Longer than an upload is open, and its parts can be on their way. */
const restMaxMs = 9 * 24 * hour;

/** What is left of uploads in parts. What has no parts takes up nothing. */
function left({ archives, table }: Pick<World, 'archives' | 'table'>): string {
  const uploads = archives.openUploads.filter(({ parts }) => parts > 0);
  const items = [...table.store.all()].filter(({ pk }) => String(pk).startsWith('PARTS#'));
  return [
    ...uploads.map(({ key }) => `a multipart upload of ${key}`),
    ...items.map(({ pk, sk }) => `${pk} ${sk}`),
  ].join(', ');
}

/** Waits until nobody's uploads are left. @param again has a tenant reconciled, where no schedule does. */
export async function settleInParts(world: World, again: () => Promise<void>): Promise<void> {
  for (let waitedMs = 0; left(world) !== ''; waitedMs += 2 * hour) {
    if (waitedMs > restMaxMs) throw new Violation(`Parts: an upload never ends: ${left(world)}`);
    await world.wait(2 * hour);
    await again();
  }
  // As long as their claims can be, repos are watched for what was promised.
  if (world.coverage.admissions > 0) await world.wait(claimedForMs);
}
