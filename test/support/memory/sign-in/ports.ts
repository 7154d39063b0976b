import type { SignInHosts } from '../../../../lambda/subjects/sign-in/sign-in-hosts.ts';

/** Nobody signs in. */
const signInHosts: SignInHosts = {
  trade: async () => undefined,
  identify: async () => ({ kind: 'refused', reason: 'there is none' }),
  accessTo: async () => new Map(),
  revoke: async () => undefined,
};

export const signInPorts = () => ({ signInHosts });
