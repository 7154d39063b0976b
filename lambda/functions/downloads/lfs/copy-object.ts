import { markHeapAtOnce } from '../../../frame/aws/deployed.ts';
import { deployedConsumer } from '../../../frame/aws/sqs-consumer.ts';
import { common, redelivery, table } from '../../../parts.ts';
import { createCopier } from '../../../subjects/downloads/lfs/copier.ts';
import { create } from '../../../subjects/downloads/lfs/copy-handler.ts';
import { copies } from '../../../subjects/downloads/stores.ts';

export function copyDeps() {
  return {
    ...common(),
    copier: createCopier(),
    copies: copies(table()),
    redelivery: redelivery('LFS_QUOTA_COPY_QUEUE_URL'),
  };
}

export const handler = await deployedConsumer(create, copyDeps, markHeapAtOnce);
