import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { markBelongings } from '../../frame/access/repo-mark-store.ts';
import { downloadMeter } from './downloads.ts';
import type { DownloadPorts } from './ports.ts';
import { downloads, publicReads } from './stores.ts';

/** A repo is public no more when its name is used again. */
export const publicBelongings = ({
  publicReads,
  clock,
}: Pick<CoreDeps, 'clock'> & Pick<DownloadPorts, 'publicReads'>) => markBelongings(publicReads, clock);

/** How much was offered. */
export const offeredMonths = ({ downloads }: Pick<DownloadPorts, 'downloads'>) => downloads.months;

export const offerMeter = { meter: downloadMeter, stores: { downloads } };

export const publicReconciles = { belongings: publicBelongings, stores: { publicReads } };
