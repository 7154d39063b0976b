import { formatUntil } from '../../cli/render.ts';
import type { SubscriptionBody } from '../../lambda/http/management/tenants/schemas.ts';
import { stateOf } from './limit-state.ts';
import { useNow } from './poll.ts';
import type { TenantView } from './subscription.ts';
import { bytesText, dayText } from './text.ts';

/** Leads to what can be deleted. */
function toLargest() {
  const target = document.getElementById('largest');
  target?.scrollIntoView({ block: 'start' });
  target?.querySelector('h2')?.focus();
}

/** What is to be done about the limit, if anything. */
export function LimitNotice({ body }: { body: SubscriptionBody }) {
  const { usage, limitBytes, forecast } = body;
  const state = stateOf(body);
  if (state === 'fine' || usage === null || limitBytes === null) return null;
  const freeBytes = limitBytes - usage.storedBytes - usage.reservedBytes;
  const full = forecast.fullOn === null ? '' : ` Full on ${dayText(forecast.fullOn)} at this pace.`;
  return (
    <div class={`notice ${state}`} role="status">
      <p>
        {state === 'over' ? (
          <>
            <strong>Uploads are refused.</strong>{' '}
            {freeBytes < 0 ? `Delete ${bytesText(-freeBytes)} or more` : 'Delete something'}, or have the
            limit raised. Downloads work as ever.
          </>
        ) : (
          <>
            <strong>{bytesText(freeBytes)} are left.</strong>
            {full} Then uploads are refused; downloads go on.
          </>
        )}
      </p>
      <button type="button" onClick={toLargest}>
        What to delete
      </button>
    </div>
  );
}

/** That there was no answer. What is shown stays. */
export function LostNotice({ view, onAsk }: { view: TenantView; onAsk: () => void }) {
  const nowMs = useNow(1000);
  const { againAtMs } = view;
  if (againAtMs === undefined) return null;
  return (
    <div class="notice lost">
      <p>
        <strong role="status">The service does not answer.</strong>{' '}
        {view.body && 'These figures are as old as they say. '}
        <span>Asked again {formatUntil(new Date(Math.max(againAtMs, nowMs)).toISOString(), nowMs)}.</span>
      </p>
      <button type="button" onClick={onAsk}>
        Ask now
      </button>
    </div>
  );
}
