/** The ports that subjects add, in memory: a line each. */

export { ciPorts as ci } from './ci/ports.ts';
