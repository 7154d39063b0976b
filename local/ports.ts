/** What subjects need of this server. */

export { ciPorts as ci } from './ci/identities.ts';
export { signInPorts as signIn } from './sign-in/hosts.ts';
