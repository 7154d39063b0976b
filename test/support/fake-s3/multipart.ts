import { errorReply, type FakeObject, type Reply } from './reply.ts';
import type { FakeRequest } from './request.ts';

export interface MultipartFaults {
  /** 501 to uploads in parts. */
  readonly hasNoParts?: boolean;
  readonly takesSmallParts?: boolean;
  readonly wantsEqualParts?: boolean;
  /** 501 to CopyObject. */
  readonly hasNoCopy?: boolean;
  /** 501 to UploadPartCopy. */
  readonly hasNoPartCopy?: boolean;
  /** A completed object lacks its last part. */
  readonly dropsLastPart?: boolean;
  readonly keepsAborted?: boolean;
}

const leastBytes = 5 * 1024 * 1024;
const xml = (root: string, inner: string): Reply => ({
  status: 200,
  body: Buffer.from(`<?xml version="1.0" encoding="UTF-8"?><${root}>${inner}</${root}>`),
});

/** Uploads in parts, and copies. */
export class Multipart {
  readonly uploads = new Map<string, Map<number, Buffer>>();
  readonly #objects: Map<string, FakeObject>;
  readonly #faults: MultipartFaults;

  constructor(objects: Map<string, FakeObject>, faults: MultipartFaults) {
    this.#objects = objects;
    this.#faults = faults;
  }

  /** Undefined: the request is about neither. */
  answer(request: FakeRequest): Reply | undefined {
    const { method, query, headers } = request;
    const uploadId = query.get('uploadId');
    const isParts = query.has('uploads') || uploadId !== undefined;
    const isCopy = headers['x-amz-copy-source'] !== undefined;
    const { hasNoParts, hasNoCopy, hasNoPartCopy } = this.#faults;
    if (isParts ? hasNoParts || (isCopy && hasNoPartCopy) : isCopy && hasNoCopy)
      return errorReply(501, 'NotImplemented');
    if (method === 'POST' && query.has('uploads')) {
      const id = `upload-${this.uploads.size}`;
      this.uploads.set(id, new Map());
      return xml('InitiateMultipartUploadResult', `<UploadId>${id}</UploadId>`);
    }
    if (uploadId !== undefined) return this.#ofUpload(request, uploadId);
    return method === 'PUT' && isCopy ? this.#copy(request) : undefined;
  }

  #ofUpload(request: FakeRequest, uploadId: string): Reply {
    const parts = this.uploads.get(uploadId);
    if (parts === undefined) return errorReply(404, 'NoSuchUpload');
    if (request.method === 'DELETE') {
      if (this.#faults.keepsAborted) return errorReply(500, 'InternalError');
      this.uploads.delete(uploadId);
      return { status: 204 };
    }
    if (request.method === 'POST') return this.#complete(request, { uploadId, parts });
    const number = Number(request.query.get('partNumber'));
    const source = this.#source(request);
    parts.set(number, source ?? request.body);
    if (source !== undefined) return xml('CopyPartResult', `<ETag>"${number}"</ETag>`);
    return { status: 200, headers: { etag: `"${number}"` } };
  }

  #complete(
    request: FakeRequest,
    { uploadId, parts }: { uploadId: string; parts: ReadonlyMap<number, Buffer> },
  ): Reply {
    const bodies = [...parts].sort(([a], [b]) => a - b).map(([, body]) => body);
    const { takesSmallParts, wantsEqualParts, dropsLastPart } = this.#faults;
    const before = bodies.slice(0, -1);
    if (!takesSmallParts && before.some(({ length }) => length < leastBytes))
      return errorReply(400, 'EntityTooSmall');
    if (wantsEqualParts && new Set(before.map(({ length }) => length)).size > 1)
      return errorReply(400, 'InvalidPart');
    this.uploads.delete(uploadId);
    this.#objects.set(request.key, { body: Buffer.concat(dropsLastPart ? before : bodies) });
    return xml('CompleteMultipartUploadResult', '<ETag>"whole"</ETag>');
  }

  #copy(request: FakeRequest): Reply {
    const body = this.#source(request);
    if (body === undefined) return errorReply(404, 'NoSuchKey');
    this.#objects.set(request.key, { body });
    return xml('CopyObjectResult', '<ETag>"copy"</ETag>');
  }

  #source({ headers }: FakeRequest): Buffer | undefined {
    const source = decodeURIComponent(String(headers['x-amz-copy-source'] ?? '')).replace(/^\//, '');
    const body = this.#objects.get(source.slice(source.indexOf('/') + 1))?.body;
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(String(headers['x-amz-copy-source-range'] ?? '')) ?? [];
    return from === undefined ? body : body?.subarray(Number(from), Number(to) + 1);
  }
}
