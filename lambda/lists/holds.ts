/** What keeps objects from being deleted. */

export { exportHold as exports } from '../subjects/exports/seams.ts';
