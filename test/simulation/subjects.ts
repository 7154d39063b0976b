/** What subjects do in the simulator: a line each, docs/architecture.md. */

export { exports } from './subjects/exports/subject.ts';
export { gc } from './subjects/gc/subject.ts';
