import type { FunctionName } from '../../lambda/routes.ts';
import { mean } from '../tables.ts';
import type { MeasuredWork } from './measure.ts';

/** The rule, as docs/decisions/memory.md has it. */
export const rule = {
  /** Lambda ends a function that needs more than its memory: so many times the highest peak. */
  headroom: 1.5,
  /** Where someone waits: a warm call takes so many times what it takes with the most memory, at the most. */
  warmMost: 1.25,
  /** The same of the first call of a process. */
  coldMost: 2,
} as const;

export interface Choice {
  readonly function: FunctionName;
  readonly memoryMb: number;
  /** What is against each smaller memory, and what each larger one would cost. */
  readonly others: readonly { readonly memoryMb: number; readonly why: string }[];
}

/** The memory of one function, by what was measured of all its work. */
export function chooseMemory(name: FunctionName, measured: readonly MeasuredWork[]): Choice | undefined {
  const own = measured.filter((work) => work.function === name);
  const sizes = [...new Set(own.map((work) => work.memoryMb))].sort((a, b) => a - b);
  const judged = sizes.map((memoryMb) => ({
    memoryMb,
    objection: objectionTo(memoryMb, own),
    cost: relativeCost(memoryMb, own),
  }));
  const allowed = judged.filter(({ objection }) => objection === undefined).sort((a, b) => a.cost - b.cost);
  const [chosen] = allowed;
  if (!chosen) return undefined;
  const others = judged
    .filter(({ memoryMb }) => memoryMb !== chosen.memoryMb)
    .map(({ memoryMb, objection, cost }) => ({
      memoryMb,
      why: objection ?? `costs ${(cost / chosen.cost).toFixed(2)} times as much`,
    }));
  return { function: name, memoryMb: chosen.memoryMb, others };
}

function objectionTo(memoryMb: number, own: readonly MeasuredWork[]): string | undefined {
  const peakMb = Math.max(...own.map((work) => work.peakMb));
  if (memoryMb < rule.headroom * peakMb) return `takes ${Math.round(peakMb)} MB`;
  const sizeMost = Math.max(...own.map((work) => work.memoryMb));
  for (const work of own.filter((each) => each.memoryMb === memoryMb && each.someoneWaits)) {
    const best = own.find((each) => each.case === work.case && each.memoryMb === sizeMost);
    if (!best) continue;
    const [warm, cold] = [work.warmMs / best.warmMs, work.coldMs / best.coldMs];
    // What is over before anybody could notice need not be faster.
    if (warm > rule.warmMost && work.warmMs > 10) return `${work.case}: ${warm.toFixed(2)} × when warm`;
    if (cold > rule.coldMost && work.coldMs > 10) return `${work.case}: ${cold.toFixed(2)} × at first`;
  }
  return undefined;
}

/** Mean over the kinds of work of what each costs, in proportion to the least that it costs. */
function relativeCost(memoryMb: number, own: readonly MeasuredWork[]): number {
  const names = [...new Set(own.map((work) => work.case))];
  return mean(
    names.map((name) => {
      const ofCase = own.filter((work) => work.case === name);
      const least = Math.min(...ofCase.map((work) => work.dollarsPerMillion));
      const here = ofCase.find((work) => work.memoryMb === memoryMb)?.dollarsPerMillion ?? Number.NaN;
      return here / least;
    }),
  );
}
