/** NaN: the file system doesn't tell. */
export interface DiskLevel {
  readonly folder: string;
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

const mebibyte = 1024 ** 2;

/** What uploads leave free, as the table needs it: 256 MiB, and less of a small disk. */
export const keptFreeBytes = ({ sizeBytes }: DiskLevel) => Math.min(256 * mebibyte, sizeBytes / 20);

/** Of a server that keeps its table, and maybe its objects, on a disk of its own. */
export interface DiskState extends DiskLevel {
  /** The table. */
  readonly isWritable: boolean;
}

/** Whether pushes fail. */
export const isFull = (disk: DiskState) => !disk.isWritable || disk.freeBytes <= keptFreeBytes(disk);
