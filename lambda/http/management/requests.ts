import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import * as z from 'zod';
import { formatBytes, isByteCount } from '../../domain/bytes.ts';
import { isTenantName, tenantNameRule } from '../../domain/names.ts';
import type { Settings } from '../../domain/settings.ts';
import { firstIssue } from '../lfs/batch-request.ts';
import { bodyText, hasContentType } from '../request.ts';
import { problem, type Response } from '../respond.ts';

const limitBytes = z
  .number()
  .refine(isByteCount, 'must be a whole number of bytes from 0 to 2^53 − 1')
  .nullable();
const plan = z.string().min(1).max(100).nullable();

export const createTenantBody = z.strictObject({
  tenant: z.string().refine(isTenantName, `must be ${tenantNameRule}`),
  limitBytes: limitBytes.optional(),
  plan: plan.optional(),
});

export const updateTenantBody = z
  .strictObject({ limitBytes: limitBytes.optional(), plan: plan.optional() })
  .refine((body) => Object.keys(body).length > 0, 'name limitBytes or plan');

export const createTokenBody = z.strictObject({
  scope: z.enum(['read', 'write']),
  label: z.string().min(1).max(100).nullable().optional(),
});

/** The decoded body, or the answer that says what is wrong with it. */
export function decodeBody<T>(
  settings: Settings,
  event: APIGatewayProxyEventV2,
  schema: z.ZodType<T>,
): { ok: true; body: T } | { ok: false; response: Response } {
  const refuse = (status: number, title: string, detail: string) => ({
    ok: false as const,
    response: problem(status, title, detail),
  });
  if (!hasContentType(event, 'application/json')) {
    return refuse(415, 'Unsupported Media Type', 'The Content-Type must be application/json.');
  }
  const text = bodyText(event, settings.bodyBytesMax);
  if (text === undefined) {
    return refuse(413, 'Content Too Large', `The body is larger than ${formatBytes(settings.bodyBytesMax)}.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse(400, 'Bad Request', 'The body is not valid JSON.');
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) return refuse(422, 'Unprocessable Content', `${firstIssue(parsed.error)}.`);
  return { ok: true, body: parsed.data };
}
