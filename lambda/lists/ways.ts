/** Another way that uploads go than one PUT each: one at most. */

export { chunkedWay as chunks } from '../subjects/chunks/seams.ts';
