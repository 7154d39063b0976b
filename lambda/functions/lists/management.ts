/** What subjects need of the stage for their routes of the management API. */

export { stageHosts as hosts } from '../hosts/parts.ts';
