/** What ends uploads that go it. */

export { chunkClaims as chunks } from '../subjects/chunks/seams.ts';
