/** What meters downloads before they are offered, and the stores of it. */

export { offerMeter as downloads } from '../subjects/downloads/seams.ts';
