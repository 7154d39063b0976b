import type { TenantWorld } from './tenant-world.ts';

/** What a client does when the connection of its PUT breaks. */
type AfterBreak = 'same-url' | 'new-batch' | 'give-up';

/**
 * A PUT whose connection breaks: the store has got a part of it, and keeps nothing. It may take as long as a whole one.
 *
 * @returns undefined if this one does not break.
 */
export async function breakOff(
  world: TenantWorld,
  input: { repo: string; oid: string; href: string },
): Promise<AfterBreak | undefined> {
  const { random, weather, truth, scheduler, settings } = world;
  if (weather.calm || !random.chance(0.1)) return undefined;
  const { repo, oid, href } = input;
  const { expiresAtMs } = JSON.parse(href) as { expiresAtMs: number };
  await world.wait(random.int(0, 5_000));
  const url = truth.urls.find(
    (held) => held.repo === repo && held.oid === oid && held.expiresAtMs === expiresAtMs,
  );
  if (url && scheduler.nowMs <= expiresAtMs) {
    const { sizeBytes } = url;
    const uploading = { name: `${repo}/${oid}`, sizeBytes };
    truth.beginUpload(uploading);
    const longestMs = settings.putGraceMs + Math.floor((sizeBytes / settings.putMinBytesPerSecond) * 1000);
    await world.wait(random.int(1, random.chance(0.2) ? longestMs : 10_000));
    truth.endUpload(uploading);
    world.coverage.broken += 1;
  }
  return random.pick(['same-url', 'same-url', 'new-batch', 'give-up']);
}
