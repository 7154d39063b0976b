import type { Response } from '../../api/http.ts';
import type { DownloadVerdict } from '../../extras/downloads.ts';
import type { SignedRequest } from '../../store/rules/store.ts';
import type { UploadVerdict } from '../../use-cases/uploads/batch-attempt.ts';
import { overLimitMessage } from './over-limit-message.ts';
import { lfs } from './respond.ts';
import type { WireAction, WireObject } from './schemas.ts';
import { verifyTokenHeader } from './verify-token.ts';

/** The answer to a batch, with what is said of each of its objects. */
export function batchAnswer(objects: readonly WireObject[]): Response {
  return lfs(200, { transfer: 'basic', objects, hash_algo: 'sha256' });
}

/** Where an upload is verified, and for whom. `nowMs` decides whether a time needs its date. */
export interface UploadAnswerContext {
  readonly tenant: string;
  readonly repo: string;
  readonly verifyUrl: string;
  readonly nowMs: number;
}

/** One object's answer to an upload request. */
export function uploadAnswer(
  object: { oid: string; size: number },
  verdict: UploadVerdict,
  context: UploadAnswerContext,
): WireObject {
  switch (verdict.kind) {
    case 'stored':
      return object;
    case 'size-conflict':
      return sizeConflict(object, verdict.storedBytes);
    case 'upload':
      return {
        ...object,
        authenticated: true,
        actions: {
          upload: wireAction(verdict.put, verdict.expiresInMs),
          ...(verdict.verifyToken !== null && {
            verify: wireAction(
              { href: context.verifyUrl, header: { [verifyTokenHeader]: verdict.verifyToken } },
              verdict.expiresInMs,
            ),
          }),
        },
      };
    case 'over-limit':
      return {
        ...object,
        error: {
          code: 507,
          message: overLimitMessage({ ...context, oid: object.oid, refusal: verdict.refusal }),
        },
      };
  }
}

/** What is answered of each object of a download. @param objects oid → bytes, as they were asked for. */
export function downloadAnswers(
  objects: ReadonlyMap<string, number>,
  verdicts: ReadonlyMap<string, DownloadVerdict>,
): WireObject[] {
  return [...verdicts].map(([oid, verdict]) => downloadAnswer({ oid, size: objects.get(oid) ?? 0 }, verdict));
}

/** One object's answer to a download request. */
function downloadAnswer(object: { oid: string; size: number }, verdict: DownloadVerdict): WireObject {
  switch (verdict.kind) {
    case 'download':
      return {
        ...object,
        authenticated: true,
        actions: { download: wireAction(verdict.get, verdict.expiresInMs) },
      };
    case 'missing':
      return { ...object, error: { code: 404, message: 'The object is not stored here.' } };
    case 'gone':
      return { ...object, error: { code: 410, message: goneMessage(verdict.atMs) } };
    case 'size-conflict':
      return sizeConflict(object, verdict.storedBytes);
  }
}

function goneMessage(atMs: number): string {
  const day = new Date(atMs).toISOString().slice(0, 10);
  return (
    `The object was deleted by a clean-up on ${day}: no branch or tag needed it. ` +
    'From a clone that still has it, it can be pushed again: git lfs push --all.'
  );
}

function sizeConflict(object: { oid: string; size: number }, storedBytes: number): WireObject {
  const message = `The object is stored with ${storedBytes} bytes, and the request says ${object.size}.`;
  return { ...object, error: { code: 422, message } };
}

/** An action from a signed request. */
function wireAction(signed: SignedRequest, expiresInMs: number): WireAction {
  return {
    href: signed.href,
    header: signed.header,
    expires_in: Math.max(0, Math.floor(expiresInMs / 1000)),
  };
}
