export interface TimeRange {
  readonly fromUnix: number
  readonly untilUnix: number
}

export interface DatedAmount {
  readonly token: string
  readonly amount: bigint
  readonly unix: number
  readonly chainId: number
  readonly blockNumber: number
}
