import type * as z from 'zod';
import type { RouteKey } from '../routes.ts';
import type { ProblemCode } from './problems.ts';

/** Who may call an operation. */
export type AccessKind =
  | 'anyone'
  /** The operator's token. */
  | 'admin'
  /** The operator's token, or one of the tenant that manages it. */
  | 'manager'
  /** The operator's token, or any token of the tenant. */
  | 'reader'
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
  | 'verify';

export interface AnswerDoc {
  readonly description: string;
  /** Without it the answer has no body. */
  readonly schema?: z.ZodType;
  readonly example?: unknown;
  /** The types of a body that is no JSON. */
  readonly types?: readonly string[];
  /** Header → what it says. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What `/openapi.json` and docs/api.md say of one route. */
export interface OperationDoc {
  /** Names the operation for generated clients. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: AccessKind;
  readonly query?: z.ZodType;
  /** Takes an `Idempotency-Key`. */
  readonly takesRequestKey?: true;
  readonly body?: { readonly schema: z.ZodType; readonly example: unknown };
  readonly answers: Readonly<Record<number, AnswerDoc>>;
  /** Of the management API, besides those that follow from the access, the query and the body. */
  readonly problems?: readonly ProblemCode[];
  /** Of the LFS API: status → when. */
  readonly lfsErrors?: Readonly<Record<number, string>>;
}

/** The descriptions of one subject, by their routes. */
export type OperationDocs = Partial<Readonly<Record<RouteKey, OperationDoc>>>;
