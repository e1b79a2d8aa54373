import assert from 'node:assert/strict'
import type { EventReading } from '#chains/ecosystem/event-source.ts'
import type { Address } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import type { MicroUsd } from '#domain/money.ts'
import { column, type Row, toStored } from '#store/sql.ts'

export interface EventFact extends EventReading {
  readonly log: Pick<
    Log,
    'chainId' | 'blockNumber' | 'blockHash' | 'txHash' | 'txIndex' | 'logIndex' | 'timestamp'
  > & {
    /** Among the rows that the code of a mapping makes of the log. */
    readonly row?: number
  }
}

export interface Sums {
  readonly amount: bigint
  readonly usd: MicroUsd
  readonly events: number
  readonly priced: number
}

export const TOTAL = 0

export const NOTHING: Sums = { amount: 0n, usd: 0n, events: 0, priced: 0 }

export function addSums(a: Sums, b: Sums): Sums {
  return {
    amount: a.amount + b.amount,
    usd: a.usd + b.usd,
    events: a.events + b.events,
    priced: a.priced + b.priced,
  }
}

export function takeSums(sums: Sums, some: Sums): Sums {
  return addSums(sums, negated(some))
}

export function negated(sums: Sums): Sums {
  return {
    amount: -sums.amount,
    usd: -sums.usd,
    events: -sums.events,
    priced: -sums.priced,
  }
}

export function readSums(row: Row): Sums {
  return {
    amount: column.bigint(row, 'amount'),
    usd: column.bigint(row, 'usd'),
    events: column.integer(row, 'events'),
    priced: column.integer(row, 'priced'),
  }
}

export function writeSums(sums: Sums): readonly [string, string, number, number] {
  assert(sums.events >= 0 && sums.priced >= 0, 'more events were reverted than stored')
  return [toStored(sums.amount), toStored(sums.usd), sums.events, sums.priced]
}

export interface Contribution {
  readonly chainId: number
  readonly token: string
  readonly account: Address | null
  readonly timestamp: number
  readonly sums: Sums
}
