import { admitUpload } from '../../lambda/core/ledger/admit-upload.ts';
import { deleteRepo, deleteTenant, markObject } from '../../lambda/core/ledger/deletes.ts';
import { requestFileDeletion } from '../../lambda/core/ledger/empty-objects.ts';
import { getSubscription } from '../../lambda/core/ledger/get-subscription.ts';
import { recordStoreEvents, refresh } from '../../lambda/core/ledger/reconcile-requests.ts';
import { cancelReservations, verifyUpload } from '../../lambda/core/ledger/reservations.ts';
import { runReconcile } from '../../lambda/core/ledger/run-reconcile.ts';
import { AwsServiceError } from '../../lambda/core/rules/errors.ts';
import { KnownObjects } from '../../lambda/core/scan/rules/known-objects.ts';
import { createRepo, limitRepo } from '../../lambda/frame/access/repos.ts';
import { createTenant, updateTenant } from '../../lambda/frame/access/tenants.ts';
import { offerDownload } from '../../lambda/subjects/lfs/downloads.ts';
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
  cancelReservations,
  createRepo,
  createTenant,
  deleteRepo,
  deleteTenant,
  getSubscription,
  limitRepo,
  markObject,
  offerDownload,
  recordStoreEvents,
  refresh,
  requestFileDeletion,
  runReconcile,
  updateTenant,
  verifyUpload,
  ...(Object.assign({}, ...Object.values<SubjectCode>(subjects).map((of) => of.code)) as object),
};

export type Code = typeof code;
