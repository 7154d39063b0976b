import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { monthOf, nextMonthMs } from '../../core/rules/dates.ts';
import { prepareMark } from '../../frame/access/repos.ts';
import { isInForce } from '../../frame/access/rules/repo-mark.ts';
import { problem } from '../../frame/api/problems.ts';
import { iso } from '../../frame/contract/fields.ts';
import type { RepoPart } from '../../frame/management/seams.ts';
import { type MarkDeps, markChange } from '../hosts/mark-change.ts';
import { type PublicRead, wrongCeiling } from '../hosts/rules/public-read.ts';
import type { DownloadPorts } from './ports.ts';
import type { PublicReadBody, PublicReadChange } from './repo-contract.ts';
import { copiesShownMax, isCopying, keptForMs } from './rules/copies.ts';
import { publicReposMax } from './rules/public-reads.ts';

/** Whether anybody may download from a repo, and what they were offered of it in this month. */
export function publicRepoPart(
  deps: MarkDeps & Pick<CoreDeps, 'settings'> & Pick<DownloadPorts, 'publicReads' | 'downloads'>,
): RepoPart {
  const { publicReads, downloads, clock, settings } = deps;
  return {
    ofMany: async ({ tenant }) => {
      const marks = new Map((await publicReads.list(tenant)).map((mark) => [mark.repo, mark]));
      return (record) => {
        const mark = marks.get(record.repo);
        return mark && isInForce(mark, record) ? { publicRead: publicReadBody(mark) } : undefined;
      };
    },
    ofOne: async (path) => {
      const mark = await publicReads.find(path);
      if (!mark) return undefined;
      return async (record) => {
        if (!isInForce(mark, record)) return undefined;
        const nowMs = clock.nowMs();
        const month = monthOf(nowMs);
        const sum = await downloads.publicMonth({ ...path, month });
        const offered = { month, ...sum, resetsAt: iso(nextMonthMs(nowMs)) };
        return { publicRead: { ...publicReadBody(mark), month: offered } };
      };
    },
    prepare: async (change) => {
      const { tenant, repo, isAdmin } = change;
      const { publicRead: to } = change.body as { publicRead?: PublicReadChange };
      if (to === undefined) return undefined;
      const aboveCeiling = isAdmin || !to ? undefined : wrongCeiling(settings, { tenant, publicRead: to });
      if (aboveCeiling !== undefined) return { refusal: problem('scope-too-small', aboveCeiling) };
      const kind = { marks: publicReads, marksMax: publicReposMax };
      return markChange(await prepareMark(deps, kind, { tenant, repo, to }), change, {
        field: 'publicRead',
        shown: publicReadBody,
        full: () =>
          problem(
            'public-repos-full',
            `${tenant.tenant} has ${publicReposMax} public repos, the maximum. Make one private first.`,
          ),
      });
    },
  };
}

function publicReadBody({ monthlyLimitBytes, sinceMs }: PublicRead): PublicReadBody {
  return { monthlyLimitBytes, since: iso(sinceMs) };
}

/** Of downloads and of copies. */
export const downloadedRepoPart = (
  deps: Parameters<typeof publicRepoPart>[0] & Parameters<typeof copiesPart>[0],
): RepoPart => ({ ...publicRepoPart(deps), ...copiesPart(deps) });

/** How many copies were asked for that aren't made. */
function copiesPart({ copies, clock }: Pick<CoreDeps, 'clock'> & Pick<DownloadPorts, 'copies'>): RepoPart {
  return {
    ofShown: async ({ tenant, repos: [repo = ''], asked }) => {
      if (asked) return new Map();
      const notes = await copies.list({ tenant, repo, countMax: copiesShownMax });
      const nowMs = clock.nowMs();
      // The table removes what has expired within days.
      const kept = notes.filter(({ untilMs }) => nowMs <= untilMs + keptForMs);
      const queued = kept.filter((note) => isCopying(note, nowMs)).length;
      const found = { copies: { queued, failed: kept.length - queued } };
      return new Map(kept.length === 0 ? [] : [[repo, found]]);
    },
  };
}
