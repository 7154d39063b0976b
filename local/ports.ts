/** What subjects need of this server. */

export { ciPorts as ci } from './ci/identities.ts';
export { exportPorts as exports } from './exports/queues.ts';
export { hostPorts as hosts } from './hosts/hosts.ts';
export { signInPorts as signIn } from './sign-in/hosts.ts';
