/** By what a repo is public beside its own setting, in the order of these names. */

export { publicByHost as hosts } from '../subjects/hosts/seams.ts';
