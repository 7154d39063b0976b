import { publicIssuers } from '../../../../lambda/subjects/ci/rules/identities.ts';
import type { Deps } from '../../../../local/deps.ts';

export const ciPorts = (): Pick<Deps, 'identities' | 'issuers'> => ({
  identities: { verify: async () => ({ kind: 'rejected', reason: 'there are none' }) },
  issuers: publicIssuers,
});
