import type { SignInHosts } from './sign-in-hosts.ts';
import type { Users } from './user-store.ts';

/** By whom people sign in to the console, and who may. */
export interface SignInPorts {
  readonly signInHosts: SignInHosts;
  readonly users: Users;
}
