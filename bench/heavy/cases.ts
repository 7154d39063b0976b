/** A tenant with very many reservations. */
export interface HeavyCase {
  readonly name: string;
  readonly reservations: number;
  readonly claimsEach: number;
  readonly repos: number;
  /** Whether every object has arrived. */
  readonly isStored: boolean;
}

export interface HeavyFigures {
  readonly claims: number;
  readonly committedBytes: number;
  readonly seconds: number;
  readonly peakMb: number;
}

export const heavyCases: readonly HeavyCase[] = [
  { name: 'nothing', reservations: 0, claimsEach: 1, repos: 1, isStored: false },
  { name: '20,000 of one object, one repo', reservations: 20_000, claimsEach: 1, repos: 1, isStored: false },
  { name: '3,000 of 100, 20 repos', reservations: 3000, claimsEach: 100, repos: 20, isStored: false },
  { name: '5,000 of 100, one repo', reservations: 5000, claimsEach: 100, repos: 1, isStored: false },
  { name: '5,000 of 100, all stored', reservations: 5000, claimsEach: 100, repos: 1, isStored: true },
  {
    name: '500,000 of one object, 10 repos',
    reservations: 500_000,
    claimsEach: 1,
    repos: 10,
    isStored: false,
  },
  {
    name: '10,000 of 100, 10 repos: the bound',
    reservations: 10_000,
    claimsEach: 100,
    repos: 10,
    isStored: false,
  },
];
