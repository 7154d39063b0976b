/** What the simulator's invocations run of subjects: a line each. */

export { gc } from './subjects/gc/code.ts';
