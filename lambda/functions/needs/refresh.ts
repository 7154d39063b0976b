/** What the beats of the schedule need of the stage. */

export { stageUsageFiles as history } from '../history/parts.ts';
