import { admitUpload } from '../../lambda/core/ledger/admit-upload.ts';
import { refresh } from '../../lambda/core/ledger/reconcile-requests.ts';
import { verifyUpload } from '../../lambda/core/ledger/reservations.ts';
import { createTenant } from '../../lambda/frame/access/tenants.ts';
import { Random } from '../support/random.ts';
import type { Mix } from './actor.ts';
import { Violation } from './invariants.ts';
import { oidName, repoName, tenantName } from './names.ts';
import { usualStage } from './stage.ts';
import { TenantWorld } from './tenant-world.ts';
import { type Mutant, World } from './world.ts';

const second = 1000;
const minute = 60 * second;
/** Nothing fails: how soon usage is exact is promised for good weather. */
const fair: Mix = {
  name: 'fair',
  fail: 0,
  lostAnswer: 0,
  twice: 0,
  late: 0,
  freeze: 0,
  kill: 0,
  skewMs: 2000,
};
const large = 8 * 1024 ** 2;
const objectsMax = 60;
/** A page of the simulated listing has three keys, so a scan takes more LISTs than the budget is made for. */
const stage = { ...usualStage, settings: { listRequestsPerHour: 100_000 } };

/** Of an upload that the client verified. */
const verifiedWithinMs = 2 * minute;

/** Of an upload that nobody verified, which ended this long after its batch. */
function unverifiedWithinMs(tookMs: number): number {
  return Math.max(3 * minute, tookMs / 2 + 2 * minute);
}

/**
 * Pushes to a stage with the defaults for half an hour, and demands of each upload that the usage which is shown holds
 * it as soon as docs/how-it-works.md promises. Clients take their time, stop, and verify or do not.
 *
 * @throws {Violation}
 */
export async function simulateFreshness(seed: number, mutant: Mutant = {}): Promise<{ uploads: number }> {
  const random = new Random(seed);
  const sizes = Array.from({ length: objectsMax }, () =>
    random.chance(0.1) ? large + random.int(0, 9) : random.int(1, 50),
  );
  const world = new World({ seed, mix: fair, sizes, tenants: [{ hasLies: false }], mutant, stage });
  world.weather.calm = true;
  const tenant = new TenantWorld(world, world.account(tenantName(0)));
  const tally = { uploads: 0 };
  world.start(0, () => play(tenant, { sizes, tally, scheduleMs: world.scheduleMs }));
  await world.run();
  return tally;
}

interface Played {
  readonly sizes: readonly number[];
  readonly tally: { uploads: number };
  readonly scheduleMs: number;
}

async function play(world: TenantWorld, { sizes, tally, scheduleMs }: Played): Promise<void> {
  const { random } = world;
  await world.invoke((deps) => createTenant(deps, { tenant: world.tenant, plan: null, limitBytes: null }));
  let isOver = false;
  world.start(random.int(0, scheduleMs), async () => {
    for (; !isOver; await world.wait(scheduleMs)) await world.invoke((deps) => refresh(deps));
  });
  const pushes: Promise<void>[] = [];
  for (let next = 0; next < sizes.length; ) {
    await world.wait(random.chance(0.5) ? random.int(0, 20 * second) : random.int(0, 8 * minute));
    const count = Math.min(sizes.length - next, random.int(1, 12));
    const oids = Array.from({ length: count }, (_, index) => oidName(next + index));
    next += count;
    const pushed = push(world, { repo: repoName(random.int(0, 1)), oids, tally });
    pushes.push(pushed.catch((error: unknown) => world.fail(error)));
  }
  await Promise.all(pushes);
  isOver = true;
}

async function push(
  world: TenantWorld,
  input: { repo: string; oids: readonly string[]; tally: Played['tally'] },
): Promise<void> {
  const { random, scheduler, tenant } = world;
  const { repo, oids, tally } = input;
  const objects = new Map(oids.map((oid) => [oid, world.sizeOf(oid)]));
  const beganMs = scheduler.nowMs;
  const asked = await world.invoke(async (deps) => {
    const record = await deps.ledger.readTenant(tenant);
    return record ? admitUpload(deps, { tenant: record, repo, objects }) : undefined;
  });
  const verdicts =
    typeof asked === 'object' && asked.answer?.kind === 'answered' ? asked.answer.verdicts : new Map();
  const isSlow = random.chance(0.4);
  await Promise.all(
    [...verdicts].map(async ([oid, verdict]) => {
      if (verdict.kind !== 'upload') throw new Error(`A new object got the verdict ${verdict.kind}.`);
      await world.wait(random.int(0, isSlow ? 25 * minute : 10 * second));
      // Somebody pressed Ctrl-C.
      if (random.chance(0.1)) return;
      world.land({ repo, oid, sizeBytes: world.sizeOf(oid), beganMs: world.scheduler.nowMs });
      tally.uploads += 1;
      const landedMs = scheduler.nowMs;
      const leastBytes = world.truth.storedBytes;
      const { verifyToken } = verdict;
      const isVerified = verifyToken !== null && random.chance(0.7);
      if (isVerified) {
        const sizeBytes = world.sizeOf(oid);
        await world.invoke((deps) => verifyUpload(deps, { tenant, repo, oid, sizeBytes, verifyToken }));
      }
      const withinMs = isVerified ? verifiedWithinMs : unverifiedWithinMs(landedMs - beganMs);
      await world.wait(withinMs);
      world.truth.look();
      const shownBytes = world.truth.record?.scanned?.storedBytes ?? 0;
      if (shownBytes < leastBytes)
        throw new Violation(
          `Freshness: ${withinMs / second} s after an upload ${shownBytes} bytes are shown, not ${leastBytes}`,
        );
    }),
  );
}
