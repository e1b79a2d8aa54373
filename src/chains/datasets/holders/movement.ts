import { type Address, ZERO_ADDRESS } from '#domain/address.ts'

export const MISSHAPEN = 'a transfer has three topics and 32 bytes of data'

export interface Step {
  readonly blockNumber: number
  readonly timestamp: number
  received: bigint
  sent: bigint
  /** What the zero address sent to itself: it is minted, and never circulates. */
  kept: bigint
}

/** An hour in which a balance moved. */
export interface OpenedHour {
  readonly token: string
  readonly address: Address
  readonly hourUnix: number
}

export function hourKey({ token, address, hourUnix }: OpenedHour): string {
  return `${token}|${address}|${hourUnix}`
}

/** Anyone can send nothing in another's name. */
export function movesAny({ received, sent }: Step): boolean {
  return received !== 0n || sent !== 0n
}

/** Oldest step first; by token and address. */
export interface Movement {
  readonly token: string
  readonly address: Address
  readonly steps: readonly Step[]
}

export interface TransferFact {
  readonly token: string
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  readonly blockNumber: number
  readonly timestamp: number
}

export function collectMovements(transfers: readonly TransferFact[]): readonly Movement[] {
  return [...Map.groupBy(transfers, ({ token }) => token)].flatMap(([token, own]) =>
    [...collectSteps(own)].sort(byAddress).map(([address, steps]) => ({ token, address, steps })),
  )
}

/** Rows in the order of their keys are written fastest. */
function byAddress([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b)
}

function collectSteps(transfers: readonly TransferFact[]): ReadonlyMap<Address, Step[]> {
  const wallets = new Map<Address, Step[]>()
  const stepOf = ({ blockNumber, timestamp }: TransferFact, address: Address): Step => {
    const steps = wallets.get(address)
    const last = steps?.at(-1)
    if (last?.blockNumber === blockNumber) return last
    const step = { blockNumber, timestamp, received: 0n, sent: 0n, kept: 0n }
    if (steps === undefined) wallets.set(address, [step])
    else steps.push(step)
    return step
  }
  for (const transfer of transfers) {
    const { from, to, value } = transfer
    stepOf(transfer, from).sent += value
    if (from === ZERO_ADDRESS && to === ZERO_ADDRESS) stepOf(transfer, to).kept += value
    else stepOf(transfer, to).received += value
  }
  return wallets
}
