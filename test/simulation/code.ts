import { admitUpload } from '../../lambda/core/ledger/admit-upload.ts';
import { deleteRepo, deleteTenant, markObject } from '../../lambda/core/ledger/deletes.ts';
import { getSubscription } from '../../lambda/core/ledger/get-subscription.ts';
import { recordStoreEvents, refresh } from '../../lambda/core/ledger/reconcile-requests.ts';
import { cancelReservations, verifyUpload } from '../../lambda/core/ledger/reservations.ts';
import { runReconcile } from '../../lambda/core/ledger/run-reconcile.ts';
import { AwsServiceError } from '../../lambda/core/rules/errors.ts';
import { KnownObjects } from '../../lambda/core/scan/rules/known-objects.ts';
import { limitRepo } from '../../lambda/frame/access/repos.ts';
import { createTenant, updateTenant } from '../../lambda/frame/access/tenants.ts';
import { offerDownload } from '../../lambda/frame/lfs/downloads.ts';
import { assembleUpload } from '../../lambda/subjects/chunks/assemble.ts';
import { proveChunk } from '../../lambda/subjects/chunks/prove.ts';
import { findUpload, progressOf, serveChunks } from '../../lambda/subjects/chunks/serve.ts';
import { tidyUpload } from '../../lambda/subjects/chunks/tidy.ts';
import { wakeUploads } from '../../lambda/subjects/chunks/wake.ts';
import { cancelExport } from '../../lambda/subjects/exports/start.ts';
import { startExport } from '../support/subjects/exports/start-export.ts';
import { Actor } from './actor.ts';
import { bound, depsOf } from './ports.ts';
import type { SubjectCode } from './subject-code.ts';
import * as subjects from './subjects-code.ts';

/**
 * All that an invocation runs: its ports, and what it calls. A simulation of two versions loads this module of the other
 * version's checkout too, and each invocation is of one of them.
 */
export const code = {
  Actor,
  AwsServiceError,
  KnownObjects,
  bound,
  depsOf,
  admitUpload,
  assembleUpload,
  cancelExport,
  cancelReservations,
  createTenant,
  deleteRepo,
  deleteTenant,
  findUpload,
  getSubscription,
  limitRepo,
  markObject,
  offerDownload,
  progressOf,
  proveChunk,
  recordStoreEvents,
  refresh,
  runReconcile,
  serveChunks,
  startExport,
  tidyUpload,
  updateTenant,
  verifyUpload,
  wakeUploads,
  ...(Object.assign({}, ...Object.values<SubjectCode>(subjects).map((of) => of.code)) as object),
};

export type Code = typeof code;
