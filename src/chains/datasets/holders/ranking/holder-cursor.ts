import { Type } from 'typebox'
import { parseAddress } from '#domain/address.ts'
import { type Parameter, parsed } from '#route/parameter.ts'
import { INVALID_CURSOR } from '../../parameters.ts'
import type { RankedHolding } from './queries.ts'

/** The last row of a page, how many it and those before ranked, and the filters. */
export interface HolderCursor {
  readonly filters: string
  readonly ranked: number
  readonly after: RankedHolding
}

export const holderCursorParameter: Parameter<HolderCursor | undefined> = {
  in: 'query',
  description: 'Continues after a page: its `meta.page.nextCursor`, with the same filters.',
  schema: Type.String({ pattern: '^[A-Za-z0-9_-]{1,1500}$' }),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, null)
    const cursor = decodeCursor(raw)
    return cursor === undefined ? INVALID_CURSOR : parsed(cursor, raw)
  },
}

export function encodeCursor({ filters, ranked, after }: HolderCursor): string {
  const text = [filters, ranked, after.balance, after.address].join('.')
  return Buffer.from(text).toString('base64url')
}

/** Sums of balances may be longer than 78 digits. */
const CURSOR = /^([0-9a-f]{16})\.([0-9]{1,15})\.([1-9][0-9]{0,998})\.(0x[0-9a-f]{40})$/

function decodeCursor(raw: string): HolderCursor | undefined {
  const text = Buffer.from(raw, 'base64url').toString('latin1')
  const [, filters = '', ranked, balance = '', own = ''] = CURSOR.exec(text) ?? []
  const address = parseAddress(own)
  if (address === undefined || Buffer.from(text).toString('base64url') !== raw) return undefined
  return { filters, ranked: Number(ranked), after: { address, balance: BigInt(balance) } }
}
