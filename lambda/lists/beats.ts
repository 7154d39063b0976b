/**
 * What the schedule does beside handing on tenants, by the name of its count in the log (one that has several names them), and the
 * stores of these.
 */

export { alertBeat as alerts } from '../subjects/alerts/beat.ts';
export { chunkBeat as uploads } from '../subjects/chunks/wake.ts';
export { exportBeat as exports } from '../subjects/exports/start.ts';
export { filePartBeat as fileParts } from '../subjects/files/seams.ts';
export { usageBeat as usage } from '../subjects/history/byte-hours-beat.ts';
