import type { Mix } from './actor.ts';

interface SubjectFocus {
  readonly mixes: readonly Mix[];
  /** @returns counts, by what was counted. */
  readonly run: (seed: number) => Promise<object>;
}

/** Subjects that have scenarios of their own. What happens in one is no list of actions, so it can't be shrunk. */
export const subjectFocuses: Readonly<Record<string, () => Promise<SubjectFocus>>> = {
  chunks: () => import('./subjects/chunks/chunks.ts'),
};
