import type { HostPorts } from '../../../../lambda/subjects/hosts/ports.ts';
import { KnownHostUsers } from '../../../../lambda/subjects/hosts/rules/host-client.ts';

/** There are no git hosts. */
export const hostPorts = (): Pick<HostPorts, 'gitHosts' | 'hostClient' | 'knownHostUsers'> => ({
  gitHosts: [],
  hostClient: {
    ask: async () => ({ kind: 'refused', reason: 'token-rejected' }),
    look: async () => ({ linkedId: null }),
  },
  knownHostUsers: new KnownHostUsers(),
});
