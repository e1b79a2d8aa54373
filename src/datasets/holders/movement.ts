import type { Address } from '#domain/address.ts'

export interface Step {
  readonly blockNumber: number
  readonly timestamp: number
  received: bigint
  sent: bigint
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
    const step = { blockNumber, timestamp, received: 0n, sent: 0n }
    movement.steps.push(step)
    return step
  }
  for (const transfer of transfers) {
    stepOf(transfer, transfer.from).sent += transfer.value
    stepOf(transfer, transfer.to).received += transfer.value
  }
  return [...movements.values()]
}
