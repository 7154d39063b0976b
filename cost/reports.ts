/** What else `npm run cost` computes, of subjects: name → dollars by what they are for. */

export { byteHoursMonth as 'byte-hours' } from './subjects/history/byte-hours.ts';
