import type * as z from 'zod';
import type { Settings } from '../../../core/rules/settings.ts';
import type { Granted, LfsLogin } from '../../lfs/access.ts';
import { type UploadAnswerContext, uploadAnswer } from '../../lfs/batch.ts';
import {
  type AdmissionDeps,
  admissionOf,
  contextOf,
  notAdmitted,
  pushRefusal,
} from '../../lfs/batch-routes.ts';
import { lfs } from '../../lfs/http.ts';
import { invalid } from '../../lfs/messages.ts';
import { lfsOperations, textOf } from '../../lfs/operations.ts';
import {
  type AdmitCopiesDeps,
  type CopyVerdict,
  importCopies,
  leftMsMin,
  type UpstreamOffer,
} from './admit-copies.ts';
import type { lfsCopiesContract, WireCopy } from './copies-contract.ts';
import { copiesRequestSchema } from './copies-request.ts';
import { copiesNothing, invalidCopies } from './lfs-messages.ts';

/** What somebody wants copied, and of what they ask how far it is. */
interface CopiesRequest {
  /** oid → bytes, in the order of the request. */
  readonly objects: ReadonlyMap<string, number>;
  readonly offers: ReadonlyMap<string, UpstreamOffer>;
  /** Those that can't be copied in this way, as it's answered. They're not in `objects` of what is asked on. */
  readonly refused: ReadonlyMap<string, WireCopy>;
}

/** @returns undefined if an object is there twice. */
function readCopies(
  settings: Settings,
  { objects }: z.output<typeof copiesRequestSchema>,
): CopiesRequest | undefined {
  const sizes = new Map(objects.map(({ oid, size }) => [oid, size]));
  if (sizes.size < objects.length) return undefined;
  const offers = new Map<string, UpstreamOffer>();
  const refused = new Map<string, WireCopy>();
  for (const { oid, size, href, expires_in: seconds } of objects) {
    if (href === undefined) continue;
    const expiresInMs = seconds === undefined ? settings.urlLifetimeMs : 1000 * seconds;
    const refuse = (message: string) => refused.set(oid, { oid, size, error: { code: 422, message } });
    if (size > settings.objectBytesMax) refuse(invalid.tooLarge(size, settings.objectBytesMax));
    else if (expiresInMs < leftMsMin) refuse(invalidCopies.expiresSoon(leftMsMin / 1000));
    else offers.set(oid, { sizeBytes: size, get: { href, header: {} }, expiresInMs });
  }
  return { objects: sizes, offers, refused };
}

/** What is answered of each object. @param context as for an upload. */
function copyAnswers(
  { objects, refused }: CopiesRequest,
  verdicts: ReadonlyMap<string, CopyVerdict>,
  context: UploadAnswerContext,
): WireCopy[] {
  return [...objects].map(([oid, size]) => {
    const verdict = verdicts.get(oid);
    if (!verdict) return refused.get(oid) ?? { oid, size };
    switch (verdict.kind) {
      case 'failed':
        return { oid, size, state: verdict.kind, reason: verdict.reason };
      case 'over-limit':
      case 'no-space':
      case 'size-conflict': {
        const { error } = uploadAnswer({ oid, size }, verdict, context);
        return { oid, size, ...(error && { error }) };
      }
      default:
        return { oid, size, state: verdict.kind };
    }
  });
}

type CopiesDeps = AdmitCopiesDeps & AdmissionDeps;

/** …/info/lfs/objects/copies: copies from another server's signed URLs. */
export const lfsCopies = (deps: CopiesDeps & { readonly login: LfsLogin }) =>
  lfsOperations<typeof lfsCopiesContract, CopiesDeps, Granted>(() => deps.login, {
    'POST /{tenant}/{repo}/info/lfs/objects/copies': {
      takes: { schema: copiesRequestSchema, wrong: invalidCopies.request },
      refusal: async (_, request) => {
        const sent = textOf(deps.settings, request.event);
        if (!sent.ok) return request.refuse(sent.statusCode, sent.message);
        const refused = await pushRefusal(deps, request);
        return refused ?? (deps.copyQueue.isOn ? undefined : request.refuse(501, copiesNothing));
      },
      async run(_, { asked, ...request }) {
        const copies = readCopies(deps.settings, asked);
        if (!copies) return request.refuse(422, invalidCopies.request('an oid is there twice'));
        const objects = new Map([...copies.objects].filter(([oid]) => !copies.refused.has(oid)));
        const outcome = await importCopies(deps, {
          ...admissionOf(request),
          objects,
          offers: copies.offers,
        });
        if (outcome.kind !== 'answered') return notAdmitted(deps, request, outcome);
        return lfs(200, { objects: copyAnswers(copies, outcome.verdicts, contextOf(deps, request)) });
      },
    },
  })(deps);
