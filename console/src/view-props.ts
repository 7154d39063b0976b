import type { SubscriptionBody } from '../../lambda/contract.ts';
import type { SessionBody } from '../../lambda/frame/contract/sessions.ts';
import type { Address } from './address.ts';
import type { Live } from './subscription.ts';

/** What every view gets. */
export interface ServiceViewProps {
  readonly session: SessionBody;
  readonly address: Address;
  /** The operator, or a token of scope `manage`. */
  readonly mayManage: boolean;
  readonly nowMs: number;
}

/** What a view of a tenant gets. */
export interface ViewProps extends ServiceViewProps {
  readonly tenant: string;
  /** Kept up to date; `askNow` and `scanAgain` ask at once. */
  readonly live: Live;
  /** `live.body`, as it is known. */
  readonly body: SubscriptionBody;
}

/** What a page gets that needs nobody to have signed in. */
export interface DoorProps {
  readonly onSignedIn: (session: SessionBody) => void;
}
