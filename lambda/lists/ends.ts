/** What ends at once when a repo or a tenant is closed: the management function has it. `belongings.ts` is asked by reconciles. */

export { accessBelongings as access } from '../frame/access/seams.ts';
export { ciBelongings as ci } from '../subjects/ci/seams.ts';
export { publicBelongings as downloads } from '../subjects/downloads/seams.ts';
export { exportTies as exports } from '../subjects/exports/seams.ts';
export { hostBelongings as hosts } from '../subjects/hosts/seams.ts';
export { signInBelongings as signIn } from '../subjects/sign-in/seams.ts';
