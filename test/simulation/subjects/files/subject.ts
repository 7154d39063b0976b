import type { SimSubject } from '../../subject.ts';
import { askInParts, beginInParts, cancelInParts, settleInParts, wakeInParts } from './in-parts.ts';

export const files = {
  begin: (world) => (world.inParts ? beginInParts(world) : undefined),
  askInParts,
  cancel: cancelInParts,
  beat: wakeInParts,
  settle: settleInParts,
} satisfies SimSubject;
