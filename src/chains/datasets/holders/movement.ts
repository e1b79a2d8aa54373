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

/** Oldest step first. */
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
  const movements = new Map<string, { token: string; address: Address; steps: Step[] }>()
  const stepOf = (transfer: TransferFact, address: Address): Step => {
    const key = `${transfer.token}|${address}`
    let movement = movements.get(key)
    if (movement === undefined) {
      movement = { token: transfer.token, address, steps: [] }
      movements.set(key, movement)
    }
    const last = movement.steps.at(-1)
    if (last?.blockNumber === transfer.blockNumber) return last
    const { blockNumber, timestamp } = transfer
    const step = { blockNumber, timestamp, received: 0n, sent: 0n, kept: 0n }
    movement.steps.push(step)
    return step
  }
  for (const transfer of transfers) {
    const { from, to, value } = transfer
    stepOf(transfer, from).sent += value
    if (from === ZERO_ADDRESS && to === ZERO_ADDRESS) stepOf(transfer, to).kept += value
    else stepOf(transfer, to).received += value
  }
  return [...movements.values()]
}
