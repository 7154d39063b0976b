import { Status } from './status.tsx';
import { Tenants } from './tenants.tsx';

/** The operator's views, fetched together. */
export const serviceViews = { tenants: Tenants, status: Status };
