import * as z from 'zod';
import { oidPattern } from '../../core/rules/names.ts';
import { fileNameBytesMax, fileNameFault } from '../../frame/access/rules/file-names.ts';
import { answer, type Contract } from '../../frame/contract/contract.ts';
import {
  bytes,
  count,
  decodeCursor,
  filePrefix,
  flag,
  page,
  pageOf,
  stringOrNull,
  time,
  timeOrNull,
} from '../../frame/contract/fields.ts';
import { saveAsBytesMax, saveAsFault } from './rules/names.ts';

/** Files that one request can name. */
export const filesPerRequest = 100;
/** 100 names of 800 bytes, with what else is said of each. */
const bodyBytesMax = 131_072;
export const uploadIdPattern = /^[0-9a-f]{32}$/;

const textWithout = (fault: (text: string) => string | undefined) =>
  z
    .string()
    .refine((text) => fault(text) === undefined, { error: ({ input }) => `must be ${fault(String(input))}` });

const name = textWithout(fileNameFault).meta({ minLength: 1, maxLength: fileNameBytesMax });

const lifetimeRule = 'must be 60 to 1800 seconds';
const lifetimeSeconds = z
  .int(lifetimeRule)
  .min(60, lifetimeRule)
  .max(1800, lifetimeRule)
  .optional()
  .meta({ default: 300, description: 'How long the URLs work. A deployment can have a lower maximum.' });

const filesOf = <T extends z.ZodType>(file: T) => z.array(file).min(1).max(filesPerRequest);

function tooMany(body: unknown): string | undefined {
  const { files } = Object(body) as { files?: unknown };
  if (!Array.isArray(files) || files.length <= filesPerRequest) return undefined;
  return `The request names ${files.length} files. Name up to ${filesPerRequest}.`;
}

const uploadsBody = z
  .strictObject({
    files: filesOf(
      z.strictObject({
        name,
        bytes: bytes.describe('More than 5 GiB go in parts.'),
        sha256: z
          .string()
          .regex(oidPattern, 'must be 64 lower-case hex digits')
          .optional()
          .describe('The store then rejects other bytes, except in parts.'),
        contentType: z
          .string()
          .regex(/^[\w.+-]{1,127}\/[\w.+-]{1,127}$/, 'must be a media type without parameters')
          .optional()
          .describe('Default: any.'),
        inParts: z
          .boolean()
          .optional()
          .describe('You can send parts: from 100 MiB on, get them. With sha256: only above 5 GiB.'),
        version: z
          .string()
          .max(100)
          .optional()
          .describe('Of a file in parts: any text that other bytes never have, such as its hash.'),
      }),
    ),
    lifetimeSeconds,
  })
  .meta({ id: 'RequestUploads' });

const partSchema = z.object({
  number: count,
  bytes,
  stored: z.literal(true).optional().describe("It's there: don't send it again."),
  url: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
});

const uploadSchema = z
  .object({
    name: z.string(),
    state: z
      .enum(['upload', 'stored', 'name-taken', 'over-limit', 'no-space'])
      .describe(
        "upload: PUT it. stored: it's there, with this SHA-256 or version. name-taken: something else is, or was within about a day, or is sent in parts. over-limit: it doesn't fit. no-space: the server's disk is full.",
      ),
    url: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional().describe('Send these unchanged.'),
    parts: z
      .array(partSchema)
      .optional()
      .describe('In place of a URL: PUT each to its own, then confirm. Request it again for fresh URLs.'),
    uploadId: z.string().optional().describe('Of a file in parts: confirms and cancels it.'),
    startedAt: time.optional().describe('If your file changed since, cancel: stored parts are old.'),
    version: z
      .string()
      .optional()
      .describe('As first requested. If yours is another, cancel, or use another name.'),
    expiresAt: time.optional(),
    storedBytes: bytes.optional().describe('Of what has the name.'),
    limit: z.enum(['tenant', 'repo']).optional().describe('The limit that is too low.'),
    usedBytes: bytes.optional().describe('Stored and reserved.'),
    reservedBytes: bytes.optional().describe('For uploads in progress.'),
    limitBytes: bytes.optional(),
    shortBytes: bytes.optional().describe('How much all refused files together are short of.'),
    reservedUntil: timeOrNull.optional().describe('When the last of these uploads can no longer finish.'),
    freeBytes: bytes.optional().describe('Free space on the disk.'),
  })
  .meta({ id: 'FileUpload' });

const uploadsSchema = z
  .object({
    uploads: z.array(uploadSchema).describe('One per file, in the order of the request.'),
    uploadId: stringOrNull.describe(
      'Cancels them. null: none has the state upload, or only some that were requested before.',
    ),
    allUpload: z.boolean(),
  })
  .meta({ id: 'FileUploads' });

const downloadsBody = z
  .strictObject({
    files: filesOf(
      z.strictObject({
        name,
        saveAs: textWithout(saveAsFault)
          .meta({ minLength: 1, maxLength: saveAsBytesMax })
          .optional()
          .describe('The name under which browsers save it. Default: what follows the last slash.'),
      }),
    ),
    lifetimeSeconds,
  })
  .meta({ id: 'RequestDownloads' });

const downloadSchema = z
  .object({
    name: z.string(),
    state: z.enum(['download', 'missing', 'deleted']),
    url: z.string().optional(),
    bytes: bytes.optional(),
    expiresAt: time.optional(),
  })
  .meta({ id: 'FileDownload' });

const downloadsSchema = z.object({ downloads: z.array(downloadSchema) }).meta({ id: 'FileDownloads' });

const prefix = filePrefix.describe('Only names that start with this.');

/** Others may have put longer names: any key, without a tenant of one letter, a repo of one, and slashes. */
const cursorPattern = /^c(?:[0-9a-f]{2}){1,1020}$/;

const pages = pageOf(cursorPattern, decodeCursor);
const { cursor } = pages.shape;
const some = { prefix: prefix.optional(), cursor };

const deleteRule = 'use name or prefix, and dryRun=true or dryRun=false. Nothing was deleted';
const deleteQuery = z
  .strictObject(
    {
      name: name.optional(),
      prefix: prefix.min(1).optional(),
      cursor,
      dryRun: flag(deleteRule).meta({ default: false, description: 'Only show what the delete would free.' }),
    },
    deleteRule,
  )
  .refine((query) => (query.name === undefined) !== (query.prefix === undefined), deleteRule)
  .refine((query) => query.prefix !== undefined || query.cursor === undefined, deleteRule);

const nextCursor = stringOrNull.describe('Repeat with this `cursor` for what follows. null: that was all.');

const deletedSchema = z
  .object({
    name: z.string().optional(),
    prefix: z.string().optional(),
    fileCount: count,
    bytes,
    nextCursor,
  })
  .meta({ id: 'FilesDeleted' });

const usageSchema = z
  .object({ prefix: z.string(), fileCount: count, bytes, nextCursor })
  .meta({ id: 'FileUsage' });

const canceledSchema = z
  .object({ uploadId: z.string(), fileCount: count, bytes })
  .meta({ id: 'FileUploadsCanceled' });

const fileSchema = z.object({
  name: z.string(),
  bytes,
  storedAt: timeOrNull.describe("By the store's clock. null: unknown."),
});
const filePageSchema = page('FilePage', { files: z.array(fileSchema) });
const storedSchema = z.object({ name: z.string(), bytes }).meta({ id: 'FileStored' });

const file = { name: 'avatars/7.png', bytes: 12_345 };
const uploadId = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
const url = 'https://lfs-objects.s3.eu-central-1.amazonaws.com/acme/media/avatars/7.png?X-Amz-Signature=…';
const expiresAt = '2026-11-21T05:05:00Z';
const ofRepo = ['repo-not-found', 'wrong-kind'] as const;
const variables = { uploadId: uploadIdPattern };
const sum = { fileCount: 2, bytes: 24_690, nextCursor: null };

/** Files of repos of kind `files`. Their names have slashes, so they're in queries and bodies, never in paths. */
export const fileContract = {
  'POST /v1/tenants/{tenant}/repos/{repo}/uploads': {
    id: 'requestUploads',
    summary: 'Request uploads of files',
    description:
      'Each file that fits gets a signed PUT for exactly its bytes, which stores it only if nothing has its name. A file never changes: upload the new one under a new name, then delete the old one. Larger files get a PUT for each of up to 1,024 parts, for up to 7 days: request the same file again to continue. With an `Idempotency-Key`, a repetition within 24 hours gets the same result.',
    access: 'writer',
    keepsToPrefix: true,
    takesRequestKey: true,
    body: {
      schema: uploadsBody,
      bytesMax: bodyBytesMax,
      tooMany,
      example: { files: [{ ...file, contentType: 'image/png' }] },
    },
    answers: {
      200: answer('One result per file.', uploadsSchema, {
        uploads: [
          {
            name: file.name,
            state: 'upload',
            url,
            headers: { 'Content-Type': 'image/png', 'If-None-Match': '*' },
            expiresAt,
          },
        ],
        uploadId,
        allUpload: true,
      }),
    },
    problems: [...ofRepo, 'too-many-files', 'usage-checking'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/uploads/{uploadId}': {
    id: 'confirmUpload',
    summary: 'Check that a file is stored',
    description:
      'Makes parts the file: repeat it until you get an answer. For other files it is optional, and only shows them in the usage earlier.',
    access: 'writer',
    keepsToPrefix: true,
    variables,
    body: { schema: z.strictObject({ name }).meta({ id: 'ConfirmUpload' }), example: { name: file.name } },
    answers: { 200: answer("It's stored.", storedSchema, file) },
    problems: [...ofRepo, 'file-not-stored', 'parts-missing', 'name-taken'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}/uploads/{uploadId}': {
    id: 'cancelUpload',
    summary: 'Cancel uploads',
    description:
      'Frees their space within seconds: their URLs store nothing any more. A file that is stored already stays.',
    access: 'writer',
    keepsToPrefix: true,
    variables,
    query: z.strictObject({ name: name.optional().describe('Only this one.') }),
    answers: {
      202: answer('The uploads end.', canceledSchema, { uploadId, fileCount: 1, bytes: file.bytes }),
    },
    problems: [...ofRepo, 'upload-not-found'],
  },
  'GET /v1/tenants/{tenant}/repos/{repo}/files': {
    id: 'listFiles',
    summary: 'The files of a repo',
    description:
      "In the order of their names' UTF-8 bytes, as the store lists them now. A page can be short or empty without being the last.",
    access: 'reader',
    keepsToPrefix: true,
    query: pages.extend(some),
    answers: {
      200: answer('One page.', filePageSchema, {
        files: [{ ...file, storedAt: '2026-11-20T08:00:00Z' }],
        nextCursor: null,
      }),
    },
    problems: [...ofRepo],
  },
  'GET /v1/tenants/{tenant}/repos/{repo}/files/usage': {
    id: 'readFileUsage',
    summary: 'Usage of the files with a prefix',
    description:
      'As the store lists them now, up to 20,000 at a time. Add up the answers until `nextCursor` is null.',
    access: 'reader',
    keepsToPrefix: true,
    query: z.strictObject(some),
    answers: { 200: answer('Their sums.', usageSchema, { prefix: 'avatars/', ...sum }) },
    problems: [...ofRepo],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}/files': {
    id: 'deleteFiles',
    summary: 'Delete a file, or all with a prefix',
    description:
      'Frees their space within seconds, and no URL brings them back. With a prefix, up to 20,000 at a time. For about a day, their names stay taken.',
    access: 'writer',
    keepsToPrefix: true,
    action: 'file.delete',
    query: deleteQuery,
    answers: {
      200: answer('With dryRun: what the delete would free. Nothing was deleted.', deletedSchema, {
        prefix: 'avatars/',
        ...sum,
      }),
      202: answer('The delete has started.', deletedSchema, { ...file, fileCount: 1, nextCursor: null }),
    },
    problems: [...ofRepo, 'file-not-found', 'deletions-full'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/downloads': {
    id: 'requestDownloads',
    summary: 'Request downloads of files',
    description:
      "Browsers save these files, and show nothing of them. They count towards the tenant's download limit.",
    access: 'asker',
    keepsToPrefix: true,
    body: {
      schema: downloadsBody,
      bytesMax: bodyBytesMax,
      tooMany,
      example: { files: [{ name: file.name }] },
    },
    answers: {
      200: answer('One result per file, in the order of the request.', downloadsSchema, {
        downloads: [{ ...file, state: 'download', url, expiresAt }],
      }),
    },
    problems: [...ofRepo, 'too-many-files', 'download-limit'],
  },
} as const satisfies Contract;

export type UploadBody = z.output<typeof uploadSchema>;
export type UploadsBody = z.output<typeof uploadsSchema>;
export type UploadsRequest = z.output<typeof uploadsBody>;
export type DownloadsBody = z.output<typeof downloadsSchema>['downloads'];
export type DownloadsRequest = z.output<typeof downloadsBody>;
