import { limitRepo } from '../../lambda/access/repos.ts';
import { createTenant, updateTenant } from '../../lambda/access/tenants.ts';
import { assembleUpload } from '../../lambda/chunks/assemble.ts';
import { proveChunk } from '../../lambda/chunks/prove.ts';
import { findUpload, progressOf, serveChunks } from '../../lambda/chunks/serve.ts';
import { tidyUpload } from '../../lambda/chunks/tidy.ts';
import { wakeUploads } from '../../lambda/chunks/wake.ts';
import { offerDownload } from '../../lambda/downloads/downloads.ts';
import { cancelExport } from '../../lambda/exports/start.ts';
import { cancelGc, openGc, startRun } from '../../lambda/gc/gc.ts';
import { admitUpload } from '../../lambda/ledger/admit-upload.ts';
import { deleteRepo, deleteTenant, markObject } from '../../lambda/ledger/deletes.ts';
import { getSubscription } from '../../lambda/ledger/get-subscription.ts';
import { recordStoreEvents, refresh } from '../../lambda/ledger/reconcile-requests.ts';
import { cancelReservations, verifyUpload } from '../../lambda/ledger/reservations.ts';
import { runReconcile } from '../../lambda/ledger/run-reconcile.ts';
import { AwsServiceError } from '../../lambda/rules/errors.ts';
import { KnownObjects } from '../../lambda/scan/rules/known-objects.ts';
import { startExport } from '../support/start-export.ts';
import { Actor } from './actor.ts';
import { bound, depsOf } from './ports.ts';

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
  cancelGc,
  cancelReservations,
  createTenant,
  deleteRepo,
  deleteTenant,
  findUpload,
  getSubscription,
  limitRepo,
  markObject,
  offerDownload,
  openGc,
  progressOf,
  proveChunk,
  recordStoreEvents,
  refresh,
  runReconcile,
  serveChunks,
  startExport,
  startRun,
  tidyUpload,
  updateTenant,
  verifyUpload,
  wakeUploads,
};

export type Code = typeof code;
