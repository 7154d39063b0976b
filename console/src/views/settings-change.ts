import type { SentTo } from '../../../cli/routes.ts';
import { change } from '../requests.ts';
import type { ViewProps } from '../view-props.ts';

/** Changes a tenant. @returns why it could not be changed. */
export const changeTenant = ({ tenant, live }: ViewProps, body: SentTo<'PATCH /v1/tenants/{tenant}'>) =>
  change('PATCH /v1/tenants/{tenant}', { tenant, body }, live.askNow);
