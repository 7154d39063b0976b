import type { Phase, Sample } from './sample.ts';
import type { ServerKind } from './server.ts';

/** A push that takes so many times as long as the bound's: more rounds would say the same, and take most of a run. */
const timesBoundMax = 3;

/** Whether a server of others is so slow in a case that one round says enough. */
export function isFarBehind(
  server: Pick<ServerKind, 'isPeer'>,
  samples: ReadonlyMap<Phase, Pick<Sample, 'wallMs'>>,
  bound: ReadonlyMap<Phase, Pick<Sample, 'wallMs'>> | undefined,
): boolean {
  const [wallMs, boundMs] = [samples.get('push')?.wallMs, bound?.get('push')?.wallMs];
  if (!server.isPeer || wallMs === undefined || boundMs === undefined) return false;
  return wallMs > timesBoundMax * boundMs;
}

export function measuredOnceBecause(place: { case: string; latency: string; server: string }): string {
  const { case: name, latency, server } = place;
  return `${server} was measured once for ${name}, latency ${latency}: its push took more than ${timesBoundMax} times the bound's.`;
}
