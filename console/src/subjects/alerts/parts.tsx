import { formatAge } from '../../../../cli/render.ts';
import { formatAddress, tenantAddress } from '../../address.ts';
import { useRead } from '../../requests.ts';
import type { SubjectParts, ViewProps } from '../../view-props.ts';
import { EmailLink } from './email-link.tsx';
import { Emails } from './emails.tsx';
import { Webhook } from './webhook.tsx';

/** A webhook that doesn't work. */
function useInProgress({ tenant, mayManage, nowMs }: ViewProps) {
  const { body } = useRead(mayManage ? 'GET /v1/tenants/{tenant}/webhook' : undefined, { tenant });
  const last = body?.last;
  return (
    last &&
    last.outcome !== 'delivered' && (
      <p>
        <a href={formatAddress(tenantAddress(tenant, 'settings'))}>Webhook</a>: {last.type}{' '}
        {last.outcome === 'failed' ? 'is retried' : "wasn't delivered"}{' '}
        <span class="soft">{formatAge(last.at, nowMs)}</span>
      </p>
    )
  );
}

export const alerts: SubjectParts = {
  settings: { 40: Webhook, 50: Emails },
  doors: { email: EmailLink },
  useInProgress,
};
