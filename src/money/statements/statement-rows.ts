import { Type } from 'typebox'
import { Movement, type Statement } from './statement-shape.ts'

const { kind: _, ...MOVEMENT } = Movement.properties

/** `row`: the kind of a movement, or what else the row says. */
export const StatementRow = Type.Object({ row: Type.String(), ...MOVEMENT })

export type StatementRow = Readonly<Record<string, string | number | undefined>> & {
  readonly row: string
}

export function toRows(statement: Statement): readonly StatementRow[] {
  const { service, key, period } = statement
  return [
    { row: 'service', id: service.url, detail: service.name },
    { row: 'jwks', id: service.jwksUrl },
    ...service.payTo.map(({ address, since, chainId, asset }) => ({
      row: 'payTo',
      id: address,
      date: since,
      chainId,
      detail: asset,
    })),
    { row: 'key', id: key.publicId, detail: key.ownerAddress },
    { row: 'opening', date: period.from, amountMicroUsd: statement.openingBalanceMicroUsd },
    ...statement.movements.map(({ kind, ...movement }) => ({ row: kind, ...movement })),
    ...statement.freeCalls.map((each) => ({ row: 'freeCalls', ...each })),
    { row: 'closing', date: period.to, amountMicroUsd: statement.closingBalanceMicroUsd },
  ]
}
