/** The object store, as the operator looks at it. */
export interface StoreProbe {
  readonly kind: 's3' | 'external' | 'embedded';
  /** Its base URL. null: that of S3 in its region. */
  readonly endpoint: string | null;
  readonly bucket: string;
  /** One cheap request, with the credentials of the service. @throws {StoreUnavailableError | Error} if it is not served. */
  probe(): Promise<void>;
}
