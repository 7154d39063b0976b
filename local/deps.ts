import type { CoreDeps } from '../lambda/core/ledger/core-deps.ts';
import type { NeedsOfAll } from '../lambda/core/rules/types.ts';
import type { FilePorts } from '../lambda/core/store/rules/file-ports.ts';
import type { GaugePorts } from '../lambda/frame/gauges/rules/gauges.ts';
import type { allSeamsOf } from '../lambda/subjects.ts';
import type * as httpHandlers from './http-handlers.ts';
import type * as workers from './workers.ts';

/** What each of the functions needs, and where this server is, which is told those that need it. */
type Needs = NeedsOfAll<Omit<typeof httpHandlers, 'console' | 'health' | 'notFound'>> &
  NeedsOfAll<typeof workers>;

/** Everything that one process that does all depends on. Each use case takes a `Pick` of what it needs. */
export type Deps = Omit<Needs, 'publicUrl'> &
  Parameters<typeof allSeamsOf>[0] &
  ReturnType<typeof allSeamsOf> &
  CoreDeps &
  FilePorts &
  GaugePorts;
