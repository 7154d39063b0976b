import { type Belongings, endsAtOnce } from '../../core/ledger/seams.ts';
import { mapLimited } from '../../core/rules/async.ts';
import type { AccessPorts } from './ports.ts';

/** No token of a tenant that is closed lets anybody in. */
export function accessBelongings({ tokens }: Pick<AccessPorts, 'tokens'>): Belongings {
  return {
    closeTenant: async (tenant) => {
      const all = [...(await tokens.listUsers(tenant)), ...(await tokens.list(tenant))];
      await mapLimited(all, endsAtOnce, ({ tokenId }) => tokens.delete({ tenant, tokenId }));
    },
  };
}
