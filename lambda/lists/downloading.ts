/** What meters downloads, lets anybody download, and finds elsewhere what is missing. */

export { downloadSeams as downloads } from '../subjects/downloads/seams.ts';
