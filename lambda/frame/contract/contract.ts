import type * as z from 'zod';
import type { AuditAction } from '../access/rules/audit.ts';
import type { ProblemCode } from './problems.ts';

export type AccessKind =
  | 'anyone'
  /** The operator's token. */
  | 'admin'
  /** The operator's token, or one of the tenant that manages it. */
  | 'manager'
  /** The same. The operator may also ask about a tenant of which nothing is left. */
  | 'auditor'
  /** The operator's token, or any token of the tenant. */
  | 'reader'
  /** The same, of what is asked by POST and changes nothing. */
  | 'asker'
  /** The operator's token, or one of the tenant that can push to the repo of the path. */
  | 'writer'
  /** The same, if it may collect garbage. */
  | 'collector'
  /** Any valid token: the operator's, or of any tenant. */
  | 'holder'
  /** The same, or a session of the console. */
  | 'anybody'
  /** A session of the console. */
  | 'session'
  /** An identity token in the body. */
  | 'identity'
  /** A token of the tenant. */
  | 'tenant'
  /** A token of the tenant; or none, to download from a public repo. */
  | 'download'
  /** The token that the batch's verify action carries. */
  | 'verify'
  /** The token that the batch's action for a chunked upload carries. */
  | 'chunks';

export interface AnswerContract {
  readonly description: string;
  /** Without it the answer has no body. */
  readonly schema?: z.ZodType;
  readonly example?: unknown;
  /** The types of a body that is no JSON, or of what it can be instead. */
  readonly types?: readonly string[];
  /** Header → what it says. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer with a body. */
export const answer = <S extends z.ZodType>(description: string, schema: S, example?: unknown) => ({
  description,
  schema,
  ...(example !== undefined && { example }),
});

/** What who manages a tenant can change, as long as it's not being deleted. */
export const managed = <A extends AuditAction>(action: A) =>
  ({ access: 'manager', onlyOpen: true, action }) as const;

/** Most bodies have a few fields. The largest that says nothing else is a rule with 200 values. */
export const bodyBytesMaxDefault = 65_536;

/**
 * All that is said of one route, once. The server checks requests by it, `/openapi.json` and docs/api.md show it, and
 * the command line and the console ask by it. It loads schemas, and nothing that serves.
 */
export interface RouteContract {
  /** Names the operation for generated clients. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: AccessKind;
  /** It reaches no more than a token with a prefix is for, or its subject refuses the rest. Else such a token is refused. */
  readonly keepsToPrefix?: true;
  /** It is refused for a tenant that is being deleted. */
  readonly onlyOpen?: true;
  /** Of its path, beside those that all routes have. */
  readonly variables?: Readonly<Record<string, RegExp>>;
  /** Without it, no parameter is known. */
  readonly query?: z.ZodType<object>;
  /** Takes an `Idempotency-Key`. */
  readonly takesRequestKey?: true;
  readonly body?: {
    readonly schema: z.ZodType<object>;
    readonly example: unknown;
    /** At most. Default: {@link bodyBytesMaxDefault}. */
    readonly bytesMax?: number;
    /** An error before the schema is asked, with the status 413. */
    readonly tooMany?: (value: unknown) => string | undefined;
  };
  /** Under which name it is audited. */
  readonly action?: AuditAction;
  readonly answers: Readonly<Record<number, AnswerContract>>;
  /** Of the management API, besides those that follow from the rest: {@link problemsOf}. */
  readonly problems?: readonly ProblemCode[];
  /** Of the LFS API, besides those that follow from the rest: {@link lfsErrorsOf}. Status → when. null: never. */
  readonly lfsErrors?: Readonly<Record<number, string | null>>;
}

/**
 * A change by the operator, or by a token of the tenant's, is audited. A session changes nothing of a tenant. The reader of an
 * e-mail has no token: their address shows what they chose.
 What a
 * writer uploads is as little audited as what git-lfs pushes.
 */
type AuditedAccess = 'admin' | 'manager' | 'collector' | 'auditor' | 'reader';
type Audit =
  | { readonly access: AuditedAccess | 'writer'; readonly action: AuditAction }
  | { readonly access: Exclude<AccessKind, AuditedAccess>; readonly action?: never };

/** The routes of one subject. The compiler lets none pass that changes something and names no action for the audit. */
export type Contract = {
  readonly [Route in `GET /${string}`]: RouteContract & { readonly action?: never };
} & {
  readonly [Route in `${'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`]: RouteContract & Audit;
};

/** Whether a git host must have been asked lately about a user of its who calls a route: all that they can change. */
export const needsHostCheck = ({ access, action }: Pick<RouteContract, 'access' | 'action'>) =>
  access === 'writer' || (access !== 'admin' && action !== undefined);

/** All problems that a route of the management API can answer: its own, and those that follow from the rest of what is said. */
export function problemsOf(route: string, contract: RouteContract): ProblemCode[] {
  const { access, onlyOpen, takesRequestKey, body, lfsErrors, problems = [] } = contract;
  if (lfsErrors) return [];
  if (access === 'anyone' && !body) return [...problems];
  const when = (holds: unknown, ...codes: ProblemCode[]) => (holds ? codes : []);
  const isIdentity = access === 'identity';
  const isOpen = isIdentity || access === 'anyone';
  const codes: ProblemCode[] = [
    ...when(access !== 'anyone', 'two-logins', 'unauthorized'),
    ...when(isIdentity, 'issuer-unavailable'),
    ...when(access === 'session' || access === 'anybody', 'session-ended'),
    ...when(['manager', 'auditor', 'writer', 'collector'].includes(access), 'scope-too-small'),
    ...when(!isOpen && access !== 'admin' && access !== 'session', 'beyond-prefix', 'tenant-suspended'),
    ...when(needsHostCheck(contract), 'sign-in-again'),
    ...when(!isOpen, 'invalid-query'),
    ...when(takesRequestKey, 'invalid-idempotency-key'),
    ...when(takesRequestKey && !isOpen, 'idempotency-key-reused'),
    ...when(body, 'invalid-json', 'unsupported-media-type', 'body-too-large', 'invalid-body'),
    // Of an identity nobody learns whether there is such a tenant.
    ...when(!isIdentity && route.includes('{tenant}'), 'tenant-not-found'),
    ...when(onlyOpen, 'tenant-closed'),
    ...problems,
    'internal-error',
    'storage-unavailable',
  ];
  return [...new Set(codes)];
}

/** When a route of the LFS API answers which error, by status: its own, and those that follow from the rest of what is said. */
export function lfsErrorsOf({ access, body, lfsErrors }: RouteContract): [status: string, when: string][] {
  if (!lfsErrors) return [];
  const errors: Record<string, string | null> = {
    400: 'Two Authorization headers differ.',
    401: 'No valid token: git-lfs asks its credential helper.',
    404: "The tenant or repo doesn't exist, or this token can't see it.",
    406: 'The Accept header excludes application/vnd.git-lfs+json.',
    429: "The user's git host limits requests. Retry after Retry-After seconds.",
    500: 'Internal error. The message contains the request ID.',
    503: "The table, object store or git host doesn't respond. Retry after Retry-After seconds.",
    ...(body && {
      400: "The body isn't valid JSON, or two Authorization headers differ.",
      413: 'The body is too large, or names too many objects.',
      422: 'The body is invalid.',
    }),
    ...lfsErrors,
  };
  if (access === 'tenant') {
    const repeated = 'A token was rejected several times within a minute, or the tenant is suspended.';
    errors[403] = lfsErrors[403] ? `${lfsErrors[403]} ${repeated}` : repeated;
  }
  return Object.entries(errors).flatMap(([status, when]) => (when === null ? [] : [[status, when]]));
}
