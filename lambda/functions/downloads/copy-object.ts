import { markHeapAtOnce } from '../../frame/aws/deployed.ts';
import { deployedConsumer } from '../../frame/aws/jobs.ts';
import * as stores from '../../lists/stores.ts';
import { common, redelivery, table } from '../../parts.ts';
import { createCopier } from '../../subjects/downloads/copier.ts';
import { create } from '../../subjects/downloads/copy-handler.ts';

export function copyDeps() {
  return {
    ...common(),
    copier: createCopier(),
    copies: stores.copies(table()),
    redelivery: redelivery('LFS_QUOTA_COPY_QUEUE_URL'),
  };
}

export const handler = await deployedConsumer(create, copyDeps, markHeapAtOnce);
