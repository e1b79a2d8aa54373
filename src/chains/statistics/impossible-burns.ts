import { readTotalSupply } from '#chains/datasets/holders/queries.ts'
import type { PricedToken } from '#chains/ecosystem/ecosystem.ts'
import { sumTotals, totalOf } from '#chains/indexer/events/sum-windows.ts'
import { BURNS } from '#chains/kinds/burns/kind.ts'
import { formatDecimal } from '#domain/money.ts'
import { isTracked } from '#domain/token.ts'
import type { Connection } from '#store/engine.ts'

export interface ImpossibleBurns {
  readonly token: string
  readonly detail: string
}

/**
 * More burned than minted: if the transfers add up to the contract's supply, burn mappings match
 * other logs or count burns twice.
 */
export async function impossibleBurns(
  connection: Connection,
  tokens: readonly PricedToken[],
): Promise<readonly ImpossibleBurns[]> {
  const totals = await sumTotals(connection, BURNS)
  const found: ImpossibleBurns[] = []
  for (const { symbol, decimals } of tokens.filter(isTracked)) {
    const { amount } = totalOf(totals, (each) => each.token === symbol)
    const { minted } = await readTotalSupply(connection, symbol)
    if (amount <= minted) continue
    const show = (units: bigint) => formatDecimal(units, decimals)
    const detail = `${show(amount)} ${symbol} burned of ${show(minted)} ever minted: check the burns of ${symbol} in the ecosystem file`
    found.push({ token: symbol, detail })
  }
  return found
}
