import type { TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { json } from '../../frame/api/http.ts';
import { iso } from '../../frame/contract/fields.ts';
import { seesRepo } from '../../frame/management/access.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import { type ForecastBody, type HistoryBody, historyContract } from './contract.ts';
import { readHistory, type TenantHistory } from './history.ts';
import type { HistoryPorts, OfferedPorts } from './ports.ts';
import type { Forecast, LastRefusal } from './rules/history.ts';

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

export function forecastBody(forecast: Forecast): ForecastBody {
  const bytesPerDay = forecast.bytesPerDay === null ? null : Math.round(forecast.bytesPerDay);
  return forecast.kind === 'full'
    ? { fullOn: forecast.day, reason: null, bytesPerDay }
    : { fullOn: null, reason: forecast.reason, bytesPerDay };
}

/** @param isShown whether whoever asks may see this repo. */
export function refusalBodies(
  refusals: readonly LastRefusal[],
  isShown: (repo: string) => boolean,
): HistoryBody['lastRefusals'] {
  const shown = refusals.filter(({ repo }) => isShown(repo));
  return shown.map(({ atMs, isAtLeast, ...refusal }) => ({ at: iso(atMs), ...refusal, atLeast: isAtLeast }));
}
