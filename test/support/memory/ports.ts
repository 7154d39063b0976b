/** What subjects need beside stores, in memory. */

export { ciPorts as ci } from './ci/ports.ts';
export { exportPorts as exports } from './exports/ports.ts';
export { hostPorts as hosts } from './hosts/ports.ts';
export { signInPorts as signIn } from './sign-in/ports.ts';
