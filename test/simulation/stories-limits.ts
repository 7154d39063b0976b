import { minute, mishap, oids, plainStage, pushed, type Story, scanned } from './story.ts';

/** What may happen around the limit of one repo. */

const second = 1_000;
const ofTenBytes = oids.map(() => 10);
const rounds = [0, 1, 2, 3];
/** Each round sets the limit, and lifts it. */
const setAndLifted = (limitBytes: number) =>
  rounds.flatMap(() => [
    { afterMs: 60 * second, repo: 0, limitBytes },
    { afterMs: 60 * second, repo: 0, limitBytes: null },
  ]);

/** A batch has read its tenant before the repo gets a limit, and goes on after that was counted. */
export const limitedMeanwhile: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, repoLimits: setAndLifted(100) },
  actions: rounds.flatMap((oid) => [
    mishap('readRepo', { kind: 'freezes-before', forMs: 12 * second }, (oid === 0 ? 58 : 113) * second),
    pushed(oid, 'never', 0),
    scanned(4 * second),
    scanned(3 * second),
  ]),
};

/** Somebody pushes to a repo that is full below the limit that it has just got. */
export const limitedBelowUsage: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 2, 4, 6, 8] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, repoLimits: setAndLifted(40) },
  actions: rounds.flatMap((round) => [
    pushed(2 * round + 1, 'never', (round === 0 ? 60 : 119.6) * second),
    pushed(2 * round + 1, 'never', 100),
    pushed(2 * round + 1, 'never', 300),
  ]),
};

/** One object is pushed by two at once to a limited repo, which adds it twice. Beside it another one just fits. */
export const addedTwiceToLimited: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, repoLimits: [{ afterMs: 0, repo: 0, limitBytes: 25 }] },
  actions: [0, 2, 4].flatMap((oid) => [
    scanned(minute),
    // Nothing of a round is alive in the next.
    pushed(oid, 'never', 49 * minute),
    pushed(oid, 'never', 0),
    pushed(oid + 1, 'never', 150),
  ]),
};

/** Usage is counted while nothing that a limited repo was promised has arrived. */
export const claimedInLimited: Story = {
  tenants: [{ limitBytes: 200, imported: [0] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, repoLimits: [{ afterMs: 0, repo: 0, limitBytes: 100 }] },
  actions: [1, 2, 3].flatMap((oid) => [pushed(oid, 'never', minute), scanned(10 * second)]),
};
