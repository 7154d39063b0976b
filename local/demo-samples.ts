/** What the demo's tenant has beside its token, so that there's something to be seen. */

export { putSampleDays as history } from './history/sample-days.ts';
