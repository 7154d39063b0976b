import type { AccountPorts } from './accounts/ports.ts';
import type { AlertPorts } from './alerts/ports.ts';
import type { ChunkPorts } from './chunks/ports.ts';
import type { DownloadPorts } from './downloads/ports.ts';
import type { ExportPorts } from './exports/ports.ts';
import type { GcPorts } from './gc/ports.ts';
import type { HistoryPorts } from './history/ports.ts';
import type { CoreDeps } from './ledger/core-deps.ts';
import type { LockPorts } from './locks/ports.ts';
import type { FunctionPorts } from './rules/clock-and-log.ts';
import type { StatusPorts } from './status/ports.ts';
import type { FilePorts } from './store/rules/file-ports.ts';

/** Everything that one process that does all depends on. Each use case takes a `Pick` of what it needs. */
export interface Deps
  extends CoreDeps,
    AccountPorts,
    DownloadPorts,
    GcPorts,
    HistoryPorts,
    AlertPorts,
    LockPorts,
    ExportPorts,
    ChunkPorts,
    StatusPorts,
    FilePorts,
    FunctionPorts {}
