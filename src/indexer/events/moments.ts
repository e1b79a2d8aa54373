/** From one moment to another, both included, in Unix seconds; open ends are infinite. */
export interface TimeRange {
  readonly fromUnix: number
  readonly untilUnix: number
}

/** An amount of a token at a moment (Unix seconds). */
export interface DatedAmount {
  readonly token: string
  readonly amount: bigint
  readonly unix: number
}
