import type { Code } from '../../code.ts';
import type { chunks } from './code.ts';

/** Of the version that is invoked. */
export const its = (version: Code) => version as Code & (typeof chunks)['code'];
