/** Randomness. */
export interface Ids {
  /** `length` random characters of base62, from a cryptographic source. */
  random(length: number): string;
}
