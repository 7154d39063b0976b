/** What the simulator's invocations run of subjects: a line each. */

export { chunks } from './subjects/chunks/code.ts';
export { downloads } from './subjects/downloads/code.ts';
export { exports } from './subjects/exports/code.ts';
export { files } from './subjects/files/code.ts';
export { gc } from './subjects/gc/code.ts';
