import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import { type Belongings, endsAtOnce } from '../../core/ledger/seams.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { downloadMeter } from './downloads.ts';
import type { DownloadPorts } from './ports.ts';
import { downloads, publicReads } from './stores.ts';

/** A repo is public no more when its name is used again. */
export function publicBelongings({
  publicReads,
  clock,
}: Pick<CoreDeps, 'clock'> & Pick<DownloadPorts, 'publicReads'>): Belongings {
  const endRepo = async ({ tenant, repo }: RepoPath) => {
    await publicReads.end({ tenant, repo, atMs: clock.nowMs() });
  };
  return {
    knows: async (path) => (await publicReads.find(path)) !== undefined,
    closeRepo: endRepo,
    closeTenant: async (tenant) => {
      const all = await publicReads.list(tenant);
      await mapLimited(all, endsAtOnce, ({ repo }) => endRepo({ tenant, repo }));
    },
    forgetRepo: async (path) => {
      await endRepo(path);
      return 'done';
    },
  };
}

/** How much was offered. */
export const offeredMonths = ({ downloads }: Pick<DownloadPorts, 'downloads'>) => downloads.months;

export const offerMeter = { meter: downloadMeter, stores: { downloads } };

export const publicReconciles = { belongings: publicBelongings, stores: { publicReads } };
