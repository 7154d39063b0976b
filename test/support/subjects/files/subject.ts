import { objectKey } from '../../../../lambda/core/rules/names.ts';
import { path, type TestedSubject } from '../../subject.ts';

export const files = {
  fill: {
    partUploads: async ({ partUploads, archives }, createdAtMs) => {
      const { uploadId } = await archives.createUpload(objectKey({ ...path, oid: 'a/b' }));
      await partUploads.put({
        ...path,
        name: 'a/b',
        upload: 'e'.repeat(32),
        multipartId: uploadId,
        sizeBytes: 6 * 1024 ** 3,
        partBytes: 1024 ** 3,
        madeBy: 'ada',
        state: 'open',
        mayBeStored: false,
        createdAtMs,
        putsUntilMs: createdAtMs,
        dueAtMs: createdAtMs + 24 * 60 * 60_000,
      });
    },
  },
} satisfies TestedSubject;
