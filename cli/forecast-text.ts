import type { ForecastBody } from '../lambda/api/contract/history.ts';
import { formatBytes } from '../lambda/domain/bytes.ts';

const reasons: Readonly<Record<NonNullable<ForecastBody['reason']>, string>> = {
  unlimited: 'never: there is no limit',
  'not-counted': 'not known: not counted yet',
  'too-few-days': 'not known: too few days are known',
  'not-growing': 'not in sight: it does not grow',
  'beyond-two-years': 'in more than two years',
};

/** When a tenant is full, as the server says it. */
export function forecastText({ fullOn, reason, bytesPerDay }: ForecastBody): string {
  const growth =
    bytesPerDay === null || bytesPerDay <= 0 ? '' : `, growing by ${formatBytes(bytesPerDay)} a day`;
  if (fullOn === null)
    return reason === null ? 'not known' : reasons[reason] + (reason === 'beyond-two-years' ? growth : '');
  return `on ${fullOn}${growth}`;
}
