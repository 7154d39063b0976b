/** What ends uploads that go another way, and the stores of it. */

export { chunkClaims as chunks } from '../subjects/chunks/seams.ts';
export { filePartClaims as files } from '../subjects/files/seams.ts';
