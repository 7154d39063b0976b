/** What knows of past weeks. */

export { outlookOf as history } from '../subjects/history/seams.ts';
