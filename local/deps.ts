import type { CoreDeps } from '../lambda/core/ledger/core-deps.ts';
import type { FunctionPorts } from '../lambda/core/rules/clock-and-log.ts';
import type { FilePorts } from '../lambda/core/store/rules/file-ports.ts';
import type { AccessPorts } from '../lambda/frame/access/ports.ts';
import type { LfsPorts } from '../lambda/frame/lfs/seams.ts';
import type { ManagementPorts } from '../lambda/frame/management/seams.ts';
import type { AlertPorts } from '../lambda/subjects/alerts/ports.ts';
import type { ChunkPorts } from '../lambda/subjects/chunks/ports.ts';
import type { CiPorts } from '../lambda/subjects/ci/ports.ts';
import type { DownloadPorts } from '../lambda/subjects/downloads/ports.ts';
import type { ExportPorts } from '../lambda/subjects/exports/ports.ts';
import type { GcPorts } from '../lambda/subjects/gc/ports.ts';
import type { HistoryPorts, OfferedPorts } from '../lambda/subjects/history/ports.ts';
import type { HostPorts } from '../lambda/subjects/hosts/ports.ts';
import type { InvitationPorts } from '../lambda/subjects/invitations/ports.ts';
import type { LockPorts } from '../lambda/subjects/locks/ports.ts';
import type { SignInPorts } from '../lambda/subjects/sign-in/ports.ts';
import type { StatusPorts } from '../lambda/subjects/status/ports.ts';

/** Everything that one process that does all depends on. Each use case takes a `Pick` of what it needs. */
export interface Deps
  extends CoreDeps,
    AccessPorts,
    LfsPorts,
    ManagementPorts,
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
