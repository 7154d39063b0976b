import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PushCase } from './cases.ts';
import { latenciesOf } from './latency.ts';
import { measureRound, type Workshop } from './measure-round.ts';
import type { LatencyMode, PushOptions } from './options.ts';
import { type Phase, phases, type Sample } from './sample.ts';
import type { ServerKind } from './server.ts';
import type { MeasuredPhase } from './summary.ts';

type Print = (text: string) => void;

/** A server, and its rounds of one case and latency. */
interface Taken {
  readonly server: ServerKind;
  readonly rounds: ReadonlyMap<Phase, Sample>[];
}

/** All cases, latencies and rounds. A peer that fails is given up, with the reason. */
export async function measureAll(
  shop: Workshop,
  input: { options: PushOptions; servers: readonly ServerKind[]; print: Print },
): Promise<{ measured: readonly MeasuredPhase[]; givenUp: readonly string[] }> {
  const { options, print } = input;
  const measured: MeasuredPhase[] = [];
  const givenUp = new Map<ServerKind, string>();
  for (const one of options.cases) {
    const source = join(shop.folder, 'source');
    await shop.client.createSource(source, one);
    for (const latency of options.latencies) {
      const taken = input.servers.map((server): Taken => ({ server, rounds: [] }));
      // The servers alternate, so that other load on the machine affects all alike.
      for (let round = 1; round <= options.rounds; round += 1) {
        for (const { server, rounds } of taken.filter((each) => !givenUp.has(each.server))) {
          const place = { server, case: one, source, latencies: latenciesOf[latency], id: nextId() };
          try {
            const samples = await measureRound(shop, place);
            rounds.push(samples);
            print(progress({ one, latency, round, server, samples }));
          } catch (error) {
            if (!server.isPeer) throw error;
            givenUp.set(server, givenUpBecause(server, error));
            print(givenUpBecause(server, error));
          }
        }
      }
      measured.push(...phasesOf(taken, { case: one.name, latency }));
    }
    rmSync(source, { recursive: true, force: true });
  }
  return { measured, givenUp: [...givenUp.values()] };
}

let roundsSoFar = 0;

/** Also a part of the names of remotes, which a client remembers. */
function nextId(): string {
  roundsSoFar += 1;
  return `round-${roundsSoFar}`;
}

/** A client names every URL that failed: the beginning tells enough. */
function givenUpBecause({ name }: ServerKind, error: unknown): string {
  return `${name} was given up: ${String(error).slice(0, 500)}`;
}

function phasesOf(taken: readonly Taken[], place: { case: string; latency: LatencyMode }): MeasuredPhase[] {
  return phases.flatMap((phase) =>
    taken.flatMap(({ server, rounds: all }) => {
      const samples = all.flatMap((round) => round.get(phase) ?? []);
      return samples.length > 0 ? [{ ...place, phase, server: server.name, rounds: samples }] : [];
    }),
  );
}

function progress(input: {
  one: PushCase;
  latency: LatencyMode;
  round: number;
  server: ServerKind;
  samples: ReadonlyMap<Phase, Sample>;
}): string {
  const walls = [...input.samples].map(([phase, { wallMs }]) => `${phase} ${(wallMs / 1000).toFixed(1)} s`);
  const { one, latency, round, server } = input;
  return `${one.name}, latency ${latency}, round ${round}, ${server.name}: ${walls.join(', ')}`;
}
