import type { Input } from '../../lambda/core/ledger/ledger.ts';
import type { LimitCommit } from '../../lambda/core/ledger/reconcile-store.ts';
import type { ScannedLimit } from '../../lambda/core/ledger/rules/tenant.ts';
import { replacing } from './replacing.ts';
import {
  addedTwiceToLimited,
  claimedInLimited,
  limitedBelowUsage,
  limitedMeanwhile,
} from './stories-limits.ts';
import type { Story } from './story.ts';
import type { Mutant, World } from './world.ts';

/** Mistakes about the limits of single repos. */

const ofNoRepo = { name: ' none', limitBytes: null } as const;

/** What a batch adds is not added to the counter of a repo, if so. */
function addedBesideLimit(isBeside: (world: World, input: Input<'addCommitted'>) => boolean): Mutant {
  return {
    ledger: (ledger, world) =>
      replacing(ledger, {
        addCommitted: (input) =>
          ledger.addCommitted(isBeside(world, input) ? { ...input, repo: ofNoRepo } : input),
      }),
  };
}

/** A batch that read the tenant before the repo had a limit is admitted after that. */
const limitNotAsRead = addedBesideLimit((_, { repo }) => repo.limitBytes === null);

/** A repo that was not counted since it has a limit is taken for empty. */
const uncountedIsEmpty = addedBesideLimit(({ ledger }, { tenant, repo, sumBytes }) => {
  const limit = ledger.inspect(tenant).record?.repoLimits.get(repo.name);
  return limit?.scanned === null && limit.limitBytes === repo.limitBytes && sumBytes <= limit.limitBytes;
});

/** Each limit of a commit is changed. */
function committedWith(
  change: (commit: LimitCommit, path: { world: World; tenant: string; repo: string }) => LimitCommit,
): Mutant {
  return {
    ledger: (ledger, world) =>
      replacing(ledger, {
        commitTenant: (commit) => {
          const { tenant } = commit;
          const changed = [...commit.repoLimits].map(
            ([repo, limit]) => [repo, change(limit, { world, tenant, repo })] as const,
          );
          return ledger.commitTenant({ ...commit, repoLimits: new Map(changed) });
        },
      }),
  };
}

/** The listing overwrites the counter of the repo. */
const overwriteLimited = committedWith((commit, { world, tenant, repo }) => {
  const now = world.ledger.inspect(tenant).record?.repoLimits.get(repo)?.scanned?.committedBytes ?? 0;
  return { ...commit, correctionBytes: commit.storedBytes - now };
});

/** The counter of a repo is used as its confirmed usage. */
const refuseByLimitCounter: Mutant = {
  ledger: (ledger) =>
    replacing(ledger, {
      addCommitted: async (input) => {
        const outcome = await ledger.addCommitted(input);
        if (outcome.kind !== 'refused') return outcome;
        const { tenant } = outcome;
        const asConfirmed = (scanned: ScannedLimit) => ({
          ...scanned,
          confirmedBaseBytes: scanned.committedBytes + tenant.deletedBytes,
          confirmedUntilMs: Number.MAX_SAFE_INTEGER,
        });
        const repoLimits = [...tenant.repoLimits].map(
          ([repo, limit]) =>
            [repo, { ...limit, scanned: limit.scanned && asConfirmed(limit.scanned) }] as const,
        );
        return { kind: 'refused', tenant: { ...tenant, repoLimits: new Map(repoLimits) } };
      },
    }),
};

export const limitMutants: readonly {
  name: string;
  mutant: Mutant;
  invariant: RegExp;
  story?: Story;
  seeds: number;
}[] = [
  {
    name: 'a limit that need not be as it was read',
    mutant: limitNotAsRead,
    invariant: /^I[13]/,
    seeds: 30,
    story: limitedMeanwhile,
  },
  {
    name: 'a repo never counted is empty',
    mutant: uncountedIsEmpty,
    invariant: /^I[13]/,
    seeds: 30,
    story: limitedBelowUsage,
  },
  {
    name: 'the listing overwrites the counter of a repo',
    mutant: overwriteLimited,
    invariant: /^I1/,
    seeds: 30,
    story: claimedInLimited,
  },
  {
    name: 'refuse by the counter of a repo',
    mutant: refuseByLimitCounter,
    invariant: /^I2/,
    seeds: 30,
    story: addedTwiceToLimited,
  },
];
