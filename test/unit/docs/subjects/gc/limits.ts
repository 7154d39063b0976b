import { formatBytes } from '../../../../../lambda/core/rules/sizes.ts';
import { setsBytesMax } from '../../../../../lambda/subjects/gc/rules/gc.ts';

export const gcLimits = {
  'Exports and garbage collection': {
    'Reachable sets of a tenant': formatBytes(setsBytesMax),
  },
};
