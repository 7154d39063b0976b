/** What subjects do in the simulator: a line each, docs/architecture.md. */

export { downloads } from './subjects/downloads/subject.ts';
export { exports } from './subjects/exports/subject.ts';
export { files } from './subjects/files/subject.ts';
export { gc } from './subjects/gc/subject.ts';
