/** Ways to log in with git-lfs beside tokens, in the order of these names. */

export { hostLogin as hosts } from '../subjects/hosts/seams.ts';
