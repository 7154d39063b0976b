import type { CoreDeps } from '../lambda/core/ledger/core-deps.ts';
import type { NeedsOfAll } from '../lambda/core/rules/types.ts';
import type { FilePorts } from '../lambda/core/store/rules/file-ports.ts';
import type { GaugePorts } from '../lambda/frame/gauges/rules/gauges.ts';
import type { NetPorts } from '../lambda/frame/net/ports.ts';
import type { create as reconcile } from '../lambda/frame/work/reconcile.ts';
import type { create as refresh } from '../lambda/functions/refresh.ts';
import type { allSeamsOf } from '../lambda/subjects.ts';
import type * as httpHandlers from './http-handlers.ts';
import type * as subjectQueues from './queues.ts';

/** What each of the functions needs, and where this server is, which is told those that need it. */
type Needs = NeedsOfAll<Omit<typeof httpHandlers, 'console' | 'health' | 'notFound'>> &
  NeedsOfAll<{ [N in keyof typeof subjectQueues]: (typeof subjectQueues)[N]['create'] }> &
  Parameters<typeof reconcile>[0] &
  Parameters<typeof refresh>[0];

/** Everything that one process that does all depends on. Each use case takes a `Pick` of what it needs. */
export type Deps = Omit<Needs, 'publicUrl'> &
  Parameters<typeof allSeamsOf>[0] &
  ReturnType<typeof allSeamsOf> &
  CoreDeps &
  FilePorts &
  GaugePorts &
  NetPorts;
