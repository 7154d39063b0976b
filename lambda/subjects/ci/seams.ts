import { type Belongings, endsAtOnce } from '../../core/ledger/seams.ts';
import { mapLimited } from '../../core/rules/async.ts';
import type { CiPorts } from './ports.ts';

/** No CI job gets a token of a tenant that is closed. */
export function ciBelongings({ exchangeRules }: Pick<CiPorts, 'exchangeRules'>): Belongings {
  return {
    closeTenant: async (tenant) => {
      await mapLimited(await exchangeRules.list(tenant), endsAtOnce, (rule) => exchangeRules.delete(rule));
    },
  };
}
