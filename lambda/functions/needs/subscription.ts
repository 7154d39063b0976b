/** What is said of repos when somebody reads a tenant's usage. */

export { publicPart as downloads } from '../downloads/parts.ts';
