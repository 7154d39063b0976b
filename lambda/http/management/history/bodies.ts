import type { Forecast } from '../../../domain/forecast.ts';
import type { TenantRecord } from '../../../domain/tenant.ts';
import type { TenantHistory } from '../../../use-cases/history/read-history.ts';
import type { ForecastBody, HistoryBody } from './schemas.ts';

export function forecastBody(forecast: Forecast): ForecastBody {
  const bytesPerDay = forecast.bytesPerDay === null ? null : Math.round(forecast.bytesPerDay);
  return forecast.kind === 'full'
    ? { fullOn: forecast.day, reason: null, bytesPerDay }
    : { fullOn: null, reason: forecast.reason, bytesPerDay };
}

export function historyBody(
  { tenant, limitBytes }: Pick<TenantRecord, 'tenant' | 'limitBytes'>,
  { from, to, days, forecast }: TenantHistory,
): HistoryBody {
  return {
    tenant,
    limitBytes,
    from,
    to,
    days: days.map(({ isCarried, downloads, ...day }) => ({
      ...day,
      // A correction may be there before what it corrects.
      downloads: downloads && {
        bytes: Math.max(0, downloads.bytes),
        objects: Math.max(0, downloads.objects),
      },
      carried: isCarried,
    })),
    forecast: forecastBody(forecast),
  };
}
