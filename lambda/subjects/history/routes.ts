import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { dayMs, dayOf } from '../../core/rules/dates.ts';
import { json } from '../../frame/api/http.ts';
import { iso } from '../../frame/contract/fields.ts';
import type { ForecastBody } from '../../frame/contract/outlook.ts';
import { seesRepo } from '../../frame/management/access.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import type { ManagementPorts, RepoPart } from '../../frame/management/seams.ts';
import { type HistoryBody, historyContract } from './contract.ts';
import { forecastFrom, forecastNow, readHistory, readWeeks, type TenantHistory } from './history.ts';
import type { HistoryPorts, OfferedPorts } from './ports.ts';
import {
  type Forecast,
  historyWeeksMax,
  type LastRefusal,
  lastRefusalsOf,
  listedWeeks,
} from './rules/history.ts';

type Needs = HistoryPorts & OfferedPorts;

export const historyOperations = operationsFor<Needs>()(historyContract, {
  'GET /v1/tenants/{tenant}/history': async (deps, { tenant, token, query }) => {
    const history = await readHistory(deps, { tenant, ...query });
    return json(
      200,
      historyBody(tenant, history, (repo) => seesRepo({ token }, repo)),
    );
  },
});

function historyBody(
  { tenant, limitBytes }: Pick<TenantRecord, 'tenant' | 'limitBytes'>,
  { from, to, days, forecast, lastRefusals }: TenantHistory,
  isShown: (repo: string) => boolean,
): HistoryBody {
  return {
    tenant,
    limitBytes,
    from,
    to,
    days: days.map(
      ({ isCarried, isSample, downloads, lastRefusals: _, maxUsedBytes, limitBytes: limit, ...day }) => ({
        ...day,
        ...(isSample && { sample: isSample }),
        maxUsedBytes: maxUsedBytes ?? day.maxStoredBytes,
        ...(limit !== undefined && { limitBytes: limit }),
        // A correction may be there before what it corrects.
        downloads: downloads && {
          bytes: Math.max(0, downloads.bytes),
          objects: Math.max(0, downloads.objects),
        },
        carried: isCarried,
      }),
    ),
    forecast: forecastBody(forecast),
    lastRefusals: refusalBodies(lastRefusals, isShown),
  };
}

function forecastBody(forecast: Forecast): ForecastBody {
  const bytesPerDay = forecast.bytesPerDay === null ? null : Math.round(forecast.bytesPerDay);
  return forecast.kind === 'full'
    ? { fullOn: forecast.day, reason: null, bytesPerDay }
    : { fullOn: null, reason: forecast.reason, bytesPerDay };
}

/** @param isShown whether whoever asks may see this repo. */
function refusalBodies(
  refusals: readonly LastRefusal[],
  isShown: (repo: string) => boolean,
): HistoryBody['lastRefusals'] {
  const shown = refusals.filter(({ repo }) => isShown(repo));
  return shown.map(({ atMs, isAtLeast, ...refusal }) => ({ at: iso(atMs), ...refusal, atLeast: isAtLeast }));
}

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
