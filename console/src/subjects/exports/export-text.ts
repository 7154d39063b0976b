import type { ExportBody } from '../../../../lambda/subjects/exports/contract.ts';
import { bytesText, percentText } from '../../text.ts';

/** Whether an export is in progress. */
export const isOpen = ({ state }: Pick<ExportBody, 'state'>) => state === 'planning' || state === 'copying';

/** How far it is, or what came of it. */
export function exportText({ state, progress, archives, failure }: ExportBody): string {
  if (isOpen({ state })) return percentText(progress.share ?? 0, 1);
  if (state === 'done') return bytesText(archives.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  return failure?.message ?? state;
}
