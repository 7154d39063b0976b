import { errorReply } from '../../../support/fake-s3/reply.ts';
import type { Misbehaving } from './examined.ts';

/** Stores with other rules for large objects. The service does not need what they lack. */
export const misbehavingParts: readonly Misbehaving[] = [
  {
    name: 'takes no more than 3,000,000 bytes at once',
    faults: {
      instead: ({ body }) => (body.length > 3_000_000 ? errorReply(413, 'EntityTooLarge') : undefined),
    },
    target: { largestBytes: 10_000_000 },
    found: { 'largest-upload': 'warning' },
    says: { 'largest-upload': /9\.54 MiB is refused \(413 EntityTooLarge\), one of 2\.38 MiB accepted/ },
  },
  {
    name: 'takes nothing large at all',
    faults: { instead: ({ body }) => (body.length > 60_000 ? errorReply(413, 'EntityTooLarge') : undefined) },
    target: { largestBytes: 5_000_000 },
    found: { 'largest-upload': 'warning' },
    says: { 'largest-upload': /and smaller ones as well/ },
  },
  {
    name: 'has no uploads in parts',
    faults: { multipart: { hasNoParts: true } },
    found: { multipart: 'warning' },
  },
  {
    name: 'loses the last part',
    faults: { multipart: { dropsLastPart: true } },
    found: { multipart: 'warning' },
    says: { multipart: /5242880 bytes are stored instead of 5242881/ },
  },
  {
    name: 'takes small parts',
    faults: { multipart: { takesSmallParts: true } },
    found: {},
    says: { 'multipart-small': /Parts of 1 KiB are accepted/ },
  },
  {
    name: 'wants equal parts, as R2',
    faults: { multipart: { wantsEqualParts: true } },
    found: { 'multipart-unequal': 'warning' },
  },
  {
    name: 'copies nothing',
    faults: { multipart: { hasNoCopy: true, hasNoPartCopy: true } },
    found: { 'copy-object': 'warning', 'copy-part': 'warning' },
  },
  {
    name: 'does not end uploads that were begun',
    faults: { multipart: { keepsAborted: true } },
    found: { cleanup: 'warning' },
    says: { cleanup: /1 unfinished multipart uploads/ },
  },
];
