/** What subjects need of this server, and read of its options. */

export { ci } from './ci/identities.ts';
export { exportPorts as exports } from './exports/queues.ts';
export { hosts } from './hosts/hosts.ts';
export { signIn } from './sign-in/hosts.ts';
