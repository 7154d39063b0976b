/** What is known now of entries of the audit log. */

export { exportEnds as exports } from '../subjects/exports/seams.ts';
