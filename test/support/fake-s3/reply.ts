export interface FakeObject {
  readonly body: Buffer;
  /** Base64, if the upload had one. */
  readonly sha256?: string;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export function errorReply(status: number, code: string, message = code): Reply {
  return { status, body: Buffer.from(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`) };
}
