import { allEnded } from '#base/async.ts'
import { formatDecimal } from '#base/money.ts'
import { isTracked } from '#base/token.ts'
import { UNMINTED } from '#data/burns/dataset.ts'
import { BURNS } from '#data/burns/kind.ts'
import { isTransferOfToken } from '#data/burns/repeated-burns.ts'
import { readTotalSupply } from '#data/holders/queries.ts'
import type { Connection } from '#db/engine.ts'
import { column, inNames, sql } from '#db/sql.ts'
import type { Ecosystem, EventSource, PricedToken } from '#ecosystem/ecosystem.ts'
import { sumTotal, sumTotals } from '#index/events/sums.ts'

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
    const { amount } = sumTotal(totals, (each) => each.token === symbol)
    const { minted } = await readTotalSupply(connection, symbol)
    if (amount <= minted) continue
    const show = (units: bigint) => formatDecimal(units, decimals)
    const detail = `${show(amount)} ${symbol} burned of ${show(minted)} ever minted: check the burns of ${symbol} in the ecosystem file`
    found.push({ token: symbol, detail })
  }
  return found
}

/**
 * What the transfers of a token sent to the zero address and burn addresses is burned or undoes a mint. Fewer burns are
 * logs that a node left out of its answers: it may know one filter and not another. Undefined if nothing is missing.
 */
export async function missingBurns(
  connection: Connection,
  ecosystem: Ecosystem,
): Promise<string | undefined> {
  const totals = [BURNS, UNMINTED].map((dataset) => sumTotals(connection, dataset))
  const counted = (await allEnded(totals)).flat()
  for (const { token, chain } of ecosystem.burns.filter((burn) => isEveryBurn(ecosystem, burn))) {
    if (token === null || !isTracked(token)) continue
    const { symbol, decimals } = token
    const { amount } = sumTotal(
      counted,
      (each) => each.token === symbol && each.chainId === chain.id,
    )
    const held = await connection.run(sql`
      select balance from balances where token = ${symbol} and chain_id = ${chain.id}
        and address ${inNames(ecosystem.burnAddresses)}`)
    const { burned } = await readTotalSupply(connection, symbol, chain.id)
    const sent = held.reduce((sum, row) => sum + column.bigint(row, 'balance'), burned)
    const show = (units: bigint) => formatDecimal(units, decimals)
    if (amount < sent)
      return `${symbol} on ${chain.name}: transfers took ${show(sent)} out of circulation, but ${show(amount)} are burned: a node left out logs; correct the endpoints, and build the register anew`
  }
  return undefined
}

/** Whether a mapping counts all burns of its token, and no bridge takes any out. */
function isEveryBurn({ burnAddresses, file }: Ecosystem, burn: EventSource): boolean {
  const { chain, token, where, whereNot, code } = burn
  const left = [...where.values(), ...whereNot.values()].map(({ size }) => size)
  const { bridges = [] } = file.tokens.find(({ symbol }) => symbol === token?.symbol) ?? {}
  const [receivers, senders] = [burnAddresses.length + 1, burnAddresses.length]
  return (
    isTransferOfToken(burn) &&
    code === undefined &&
    left.join() === `${receivers},${senders}` &&
    !bridges.some((each) => each.chain === chain.name)
  )
}
