import { createCopier } from '../downloads/copier.ts';
import * as stores from '../stores.ts';
import { common, redelivery, table } from './parts.ts';

export function copyDeps() {
  return {
    ...common(),
    copier: createCopier(),
    copies: stores.copies(table()),
    redelivery: redelivery('LFS_QUOTA_COPY_QUEUE_URL'),
  };
}
