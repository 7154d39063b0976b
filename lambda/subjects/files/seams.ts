import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { isOfFiles } from '../../core/ledger/rules/tenant.ts';
import type { Belongings, Chore, Claims, Forgotten } from '../../core/ledger/seams.ts';
import { type PartDeps, removeUpload, tidyUploads } from './parts.ts';
import type { PartPorts } from './ports.ts';
import * as stores from './stores.ts';

/** The chore ends what they claim. */
const fileClaims = ({
  partUploads,
  clock,
}: Pick<CoreDeps, 'clock'> & Pick<PartPorts, 'partUploads'>): Claims => ({
  async end({ tenant, reservation, untilMs = Number.POSITIVE_INFINITY }) {
    const { id: upload, repo, chunked = [] } = reservation;
    const ended: string[] = [];
    for (const name of chunked) {
      const nowMs = clock.nowMs();
      if (nowMs > untilMs) break;
      const found = await partUploads.change({ tenant, repo, name, upload }, (now) =>
        now.state === 'open' ? { ...now, state: 'ended', dueAtMs: nowMs } : undefined,
      );
      if (found?.state === 'ended') ended.push(name);
    }
    return ended;
  },
});

/** Whoever uses the name of a repo again finds none of its uploads. */
function fileBelongings(deps: PartDeps): Belongings {
  const forget = async (input: { tenant: string; repo?: string; untilMs: number }): Promise<Forgotten> => {
    const { untilMs, ...place } = input;
    for (const upload of await deps.partUploads.of(place)) {
      if (deps.clock.nowMs() > untilMs) return 'unfinished';
      await removeUpload(deps, upload);
    }
    return 'done';
  };
  return { forgetRepo: forget, forgetTenant: forget };
}

const fileChore = (deps: PartDeps): Chore => ({
  what: 'file parts',
  advance: async ({ repos, ...input }) => (repos.some(isOfFiles) ? tidyUploads(deps, input) : 'done'),
});

/** Tenants of one run of the schedule. The others are still due in the next. */
const wokenMax = 300;

/** Has reconciles end uploads in parts whose time is over. @returns of how many tenants. @throws {LedgerUnavailableError} */
async function wakeFileParts({
  partUploads,
  queue,
  clock,
}: Pick<CoreDeps, 'queue' | 'clock'> & Pick<PartPorts, 'partUploads'>): Promise<number> {
  const tenants = await partUploads.dueTenants({ nowMs: clock.nowMs(), max: wokenMax });
  await queue.requestAll(tenants.map((tenant) => ({ tenant, reason: 'upload', full: false })));
  return tenants.length;
}

export const fileReconciles = { belongings: fileBelongings, chores: fileChore, stores };
export const filePartClaims = { claims: fileClaims, stores };
export const filePartBeat = { beat: wakeFileParts, stores };
