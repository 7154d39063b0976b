/** What subjects need of the stage for their routes of the management API. */

export { stageIssuers as ci } from '../ci/parts.ts';
export { stageExports as exports } from '../exports/parts.ts';
export { stageHosts as hosts } from '../hosts/parts.ts';
