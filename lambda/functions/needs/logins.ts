/** What ways to log in with git-lfs need. */

export { hostUsers as hosts } from '../hosts/parts.ts';
