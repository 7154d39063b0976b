import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { dayMs, dayOf } from '../../core/rules/dates.ts';
import { json } from '../../frame/api/http.ts';
import { seesRepo } from '../../frame/management/access.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import type { ManagementPorts, RepoPart } from '../../frame/management/seams.ts';
import { historyContract } from './contract.ts';
import { forecastBody, forecastFrom, forecastNow, readHistory, readWeeks, refusalBodies } from './history.ts';
import type { HistoryPorts, OfferedPorts } from './ports.ts';
import { historyWeeksMax, lastRefusalsOf, listedWeeks } from './rules/history.ts';

type Needs = HistoryPorts & OfferedPorts;

export const historyOperations = operationsFor<Needs>()(historyContract, {
  'GET /v1/tenants/{tenant}/history': async (deps, { tenant, token, query }) => {
    const isShown = (repo: string) => seesRepo({ token }, repo);
    return json(200, await readHistory(deps, { tenant, ...query, isShown }));
  },
});

/** What repos stored in each of the last weeks. */
export function weekPart(deps: Pick<CoreDeps, 'clock'> & HistoryPorts): RepoPart {
  return {
    ofShown: async ({ tenant, records: repos, asked }) => {
      if (asked && asked['weeks'] !== true) return new Map();
      const count = asked ? listedWeeks : historyWeeksMax;
      const found = await readWeeks(deps, { tenant, repos, count });
      return new Map([...found].map(([repo, weeks]) => [repo, { weeks }]));
    },
  };
}

/** When the limit is reached, and what it refused lately. */
export const outlookPart =
  ({ history }: HistoryPorts): ManagementPorts['subscriptionParts'][number] =>
  async ({ tenant: name, nowMs }) => {
    const today = dayOf(nowMs);
    const noted = await history.days({ tenant: name, from: forecastFrom(today), to: today });
    return (tenant, isShown) => ({
      forecast: forecastBody(forecastNow({ tenant, noted, today })),
      lastRefusals: refusalBodies(lastRefusalsOf(noted, nowMs - dayMs), isShown),
    });
  };
