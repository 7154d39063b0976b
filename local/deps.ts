import type { AccessPorts } from '../lambda/access/ports.ts';
import type { AlertPorts } from '../lambda/alerts/ports.ts';
import type { ChunkPorts } from '../lambda/chunks/ports.ts';
import type { CiPorts } from '../lambda/ci/ports.ts';
import type { DownloadPorts } from '../lambda/downloads/ports.ts';
import type { ExportPorts } from '../lambda/exports/ports.ts';
import type { GcPorts } from '../lambda/gc/ports.ts';
import type { HistoryPorts, OfferedPorts } from '../lambda/history/ports.ts';
import type { HostPorts } from '../lambda/hosts/ports.ts';
import type { InvitationPorts } from '../lambda/invitations/ports.ts';
import type { CoreDeps } from '../lambda/ledger/core-deps.ts';
import type { LockPorts } from '../lambda/locks/ports.ts';
import type { FunctionPorts } from '../lambda/rules/clock-and-log.ts';
import type { SignInPorts } from '../lambda/sign-in/ports.ts';
import type { StatusPorts } from '../lambda/status/ports.ts';
import type { FilePorts } from '../lambda/store/rules/file-ports.ts';

/** Everything that one process that does all depends on. Each use case takes a `Pick` of what it needs. */
export interface Deps
  extends CoreDeps,
    AccessPorts,
    CiPorts,
    HostPorts,
    InvitationPorts,
    SignInPorts,
    DownloadPorts,
    GcPorts,
    HistoryPorts,
    OfferedPorts,
    AlertPorts,
    LockPorts,
    ExportPorts,
    ChunkPorts,
    StatusPorts,
    FilePorts,
    FunctionPorts {}
