/** What subjects do in the simulator: a line each, docs/architecture.md. */

export { gc } from './subjects/gc/subject.ts';
