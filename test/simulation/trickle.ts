import { act } from './act.ts';
import { push } from './push.ts';
import type { TenantWorld } from './tenant-world.ts';

const minute = 60_000;

/** Objects that only somebody who trickles pushes. Their oids are those of no object of the scenario. */
const firstTrickled = 18;
const trickledCount = 16;
const trickledPerRound = 4;
const trickledBytes = 40;

/** The sizes of a scenario, and of what is trickled. */
export function withTrickled(sizes: readonly number[]): number[] {
  return Array.from({ length: firstTrickled + trickledCount }, (_, index) =>
    index < firstTrickled ? (sizes[index] ?? 0) : trickledBytes,
  );
}

/**
 * Somebody who tries to store more than the limit: round after round, each when the reservations of the one before are
 * dead, with PUTs that begin just before their URL expires and end almost a day later. In some worlds the objects are
 * sent at once, too, and are deleted when nothing holds them.
 */
export async function trickle(world: TenantWorld): Promise<void> {
  const sizes = withTrickled([]);
  const rounds: Promise<void>[] = [];
  const isDeleting = world.random.chance(0.5);
  for (let first = firstTrickled; first < sizes.length; first += trickledPerRound) {
    const objects = Array.from({ length: trickledPerRound }, (_, index) => ({
      oid: first + index,
      lie: false,
    }));
    const repo = rounds.length % 2;
    const action = {
      kind: 'push',
      tenant: 0,
      afterMs: 0,
      repo,
      objects,
      plan: isDeleting ? 'twice' : 'trickled',
      verify: isDeleting,
    } as const;
    rounds.push(push(world, action, sizes).catch((error: unknown) => world.fail(error)));
    await world.wait(world.random.int(40 * minute, 60 * minute));
    if (!isDeleting) continue;
    const from = { tenant: 0, afterMs: 0, repo };
    if (world.filesRepos.includes(repo))
      for (const { oid } of objects)
        await act(world, { sizes }, { kind: 'delete-object', ...from, oid, contested: false });
    else await act(world, { sizes }, { kind: 'delete-repo', ...from });
    // Until the repo is empty, and open again.
    await world.wait(world.random.int(0, 20 * minute));
  }
  await Promise.all(rounds);
}
