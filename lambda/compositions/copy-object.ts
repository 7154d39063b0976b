import * as stores from '../stores.ts';
import { createCopier } from '../subjects/downloads/copier.ts';
import { common, redelivery, table } from './parts.ts';

export function copyDeps() {
  return {
    ...common(),
    copier: createCopier(),
    copies: stores.copies(table()),
    redelivery: redelivery('LFS_QUOTA_COPY_QUEUE_URL'),
  };
}
