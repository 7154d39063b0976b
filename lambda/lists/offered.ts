/** What knows how much was offered for download. */

export { offeredMonths as downloads } from '../subjects/downloads/seams.ts';
