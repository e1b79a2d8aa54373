import assert from 'node:assert/strict'
import { toStored } from '#lib/stored-integer.ts'
import type { Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import type { Sums } from './event.ts'

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
