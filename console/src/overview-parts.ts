/** What the overview has of each subject. It comes with the page's script. */
export { downloads } from './subjects/downloads/downloads.tsx';
export { files } from './subjects/files/pill.ts';
export { history } from './subjects/history/storage-card.tsx';
export { hosts } from './subjects/hosts/pill.ts';
