/** What a subscription has of the past and the future, if a subject knows it. */
export interface Outlook {
  readonly forecast?: ForecastBody;
  readonly lastRefusals?: readonly {
    readonly at: string;
    readonly repo: string;
    readonly user: string | null;
    readonly files: number;
    readonly atLeast: boolean;
    readonly bytes: number;
    readonly shortBytes: number;
    readonly limit: 'tenant' | 'repo';
  }[];
}

export interface ForecastBody {
  readonly fullOn: string | null;
  readonly reason: 'unlimited' | 'not-scanned' | 'too-few-days' | 'not-growing' | 'beyond-two-years' | null;
  readonly bytesPerDay: number | null;
}
