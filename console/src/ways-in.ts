/** What somebody without a token signs in with. */
export { gitHosts as signIn } from './subjects/sign-in/git-sign-in.tsx';
