import { type Belongings, endsAtOnce } from '../../core/ledger/seams.ts';
import { mapLimited } from '../../core/rules/async.ts';
import type { SignInPorts } from './ports.ts';

/** Nobody signs in to a tenant that is closed. */
export function signInBelongings({ users }: Pick<SignInPorts, 'users'>): Belongings {
  return {
    closeTenant: async (tenant) => {
      await mapLimited(await users.list(tenant), endsAtOnce, (organization) => users.disallow(organization));
    },
  };
}
