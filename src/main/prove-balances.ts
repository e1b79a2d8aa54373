import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem'
import { circulatingOf, readTotalSupply, totalSupplyOf } from '#datasets/holders/queries.ts'
import { type Address, showAddress } from '#domain/address.ts'
import { isTracked } from '#domain/token.ts'
import type { PricedToken } from '#ecosystem/ecosystem.ts'
import type { ChainStatus, IndexStatus } from '#indexer/status.ts'
import { chunks } from '#lib/chunks.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import type { AuditDeps } from './audit-deps.ts'

const ABI = parseAbi([
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
])

/** Calls in flight at once; they travel in batches. */
const CALLS_AT_ONCE = 200

/**
 * Asks the token contracts for `totalSupply()` and for `balanceOf` of every stored holder at the
 * indexed block; gives the first difference in words.
 */
export async function proveBalances(
  deps: Pick<AuditDeps, 'ecosystem' | 'sourceOf' | 'note'>,
  stored: Connection,
  status: IndexStatus,
): Promise<string | undefined> {
  for (const token of deps.ecosystem.tokens.filter(isTracked))
    for (const chain of status.chains) {
      const contract = token.addresses.get(chain.chain.name)
      if (contract === undefined) continue
      const place = { token, chain, contract }
      const difference =
        (await proveSupply(deps, stored, place)) ?? (await proveHolders(deps, stored, place))
      if (difference !== undefined) return difference
    }
  return undefined
}

interface Place {
  readonly token: PricedToken
  readonly chain: ChainStatus
  readonly contract: Address
}

async function proveSupply(
  deps: Pick<AuditDeps, 'sourceOf'>,
  stored: Connection,
  { token, chain, contract }: Place,
): Promise<string | undefined> {
  const supply = await readTotalSupply(stored, token.symbol, chain.chain.id)
  const data = encodeFunctionData({ abi: ABI, functionName: 'totalSupply' })
  const answer = await deps.sourceOf(chain.chain).call(contract, data, chain.blockNumber)
  const found = decodeFunctionResult({ abi: ABI, functionName: 'totalSupply', data: answer })
  if (found !== totalSupplyOf(supply))
    return `${token.symbol} on ${chain.chain.name}: totalSupply() is ${found}, the register has ${totalSupplyOf(supply)}`
  if (circulatingOf(supply) < 0n)
    return `${token.symbol} on ${chain.chain.name}: less than nothing circulates`
  return undefined
}

async function proveHolders(
  deps: Pick<AuditDeps, 'sourceOf' | 'note'>,
  stored: Connection,
  { token, chain, contract }: Place,
): Promise<string | undefined> {
  const found = await stored.run(sql`
    select address, balance from balances
    where token = ${token.symbol} and chain_id = ${chain.chain.id}
    order by address`)
  const source = deps.sourceOf(chain.chain)
  for (const part of chunks(found, CALLS_AT_ONCE)) {
    const differences = await Promise.all(
      part.map(async (row) => {
        const address = column.hex(row, 'address')
        const data = encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [address] })
        const answer = await source.call(contract, data, chain.blockNumber)
        const balance = decodeFunctionResult({ abi: ABI, functionName: 'balanceOf', data: answer })
        return balance === column.u256(row, 'balance')
          ? undefined
          : `${token.symbol} on ${chain.chain.name}: balanceOf(${showAddress(address)}) is ${balance}, the register has ${column.u256(row, 'balance')}`
      }),
    )
    const first = differences.find((each) => each !== undefined)
    if (first !== undefined) return first
  }
  deps.note(
    `${token.symbol} on ${chain.chain.name}: totalSupply and ${found.length} balances equal the contract's`,
  )
  return undefined
}
