import type { SignInHosts } from './sign-in-hosts.ts';
import type { Users } from './user-store.ts';

/** By whom people sign in to the console, and who may. */
export interface SignInPorts {
  readonly signInHosts: SignInHosts;
  readonly users: Users;
  /** What is ended with a user, who could sign in again and find it. In this order, before the user. */
  readonly userEnds: readonly ((user: { tenant: string; userId: string }) => Promise<void>)[];
}
