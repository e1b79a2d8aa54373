import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { Ecosystem, PricedToken } from '#chains/ecosystem/ecosystem.ts'
import { type ChainStatus, readIndexStatus } from '#chains/indexer/status.ts'
import { askContract, askSupply } from '#chains/indexer/token-contract.ts'
import { type Address, showAddress, ZERO_ADDRESS } from '#domain/address.ts'
import { isTracked } from '#domain/token.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { readBalanceAt, readSupplyAt } from '../queries.ts'
import type { Proof } from './proof-row.ts'
import { sampleHolders } from './sample-holders.ts'

export interface ProveDeps {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  sourceOf(chainId: number): ChainSource
}

export interface Outcome extends Omit<Proof, 'provenAtUnix'> {
  /** The tokens that could be compared; null without a difference. */
  readonly compared: readonly { readonly contract: Address; readonly difference: string | null }[]
}

interface Claim {
  readonly symbol: string
  readonly token: Address
  readonly holder: Address
  readonly stored: bigint
}

/**
 * Compares the register with the token contracts at a final block: supply, burn addresses, the
 * largest holders and a random sample. Undefined until the history is complete.
 */
export async function proveHolders(deps: ProveDeps, chainId: number): Promise<Outcome | undefined> {
  const pinned = await deps.register.snapshot((reads) => readClaims(deps, reads, chainId))
  if (pinned === undefined) return undefined
  const { claims, status } = pinned
  const source = deps.sourceOf(chainId)
  const blockNumber = status.finalizedNumber
  const found: TokenOutcome[] = []
  for (const own of Map.groupBy(claims, ({ token }) => token).values())
    found.push(await proveToken(source, blockNumber, own))
  const worst =
    found.find(({ verdict }) => verdict === 'differs') ??
    found.find(({ verdict }) => verdict === 'unproven')
  const { verdict = 'agrees', detail = null } = worst ?? {}
  return {
    ...{ chainId, blockNumber, checked: claims.length, verdict, detail },
    compared: found.flatMap(({ verdict: own, contract, detail: difference }) =>
      own === 'unproven' ? [] : [{ contract, difference }],
    ),
  }
}

interface TokenOutcome extends Pick<Outcome, 'verdict' | 'detail'> {
  readonly contract: Address
}

/** Compares a token with its contract. A token that cannot be asked must not hide another. */
async function proveToken(
  source: ChainSource,
  blockNumber: number,
  claims: readonly Claim[],
): Promise<TokenOutcome> {
  const contract = claims[0]?.token ?? ZERO_ADDRESS
  try {
    const answers = await Promise.all(
      claims.map(({ token, holder, stored }) =>
        holder === ZERO_ADDRESS
          ? askSupply(source, token, { stored, blockNumber })
          : askContract(source, token, holder, blockNumber),
      ),
    )
    const index = claims.findIndex((claim, at) => claim.stored !== answers[at])
    const claim = claims[index]
    if (claim === undefined) return { contract, verdict: 'agrees', detail: null }
    return { contract, verdict: 'differs', detail: describe(claim, answers[index] ?? 0n) }
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    return { contract, verdict: 'unproven', detail }
  }
}

async function readClaims(
  deps: ProveDeps,
  reads: Connection,
  chainId: number,
): Promise<{ readonly claims: readonly Claim[]; readonly status: ChainStatus } | undefined> {
  const index = await readIndexStatus(reads, deps.ecosystem.chains)
  const status = index?.chains.find((each) => each.chain.id === chainId)
  if (status === undefined || status.backfill !== null) return undefined
  const claims: Claim[] = []
  for (const token of deps.ecosystem.tokens.filter(isTracked)) {
    const address = token.addresses.get(status.chain.name)
    if (address !== undefined) claims.push(...(await claimsOf(deps, reads, status, token, address)))
  }
  return { claims, status }
}

async function claimsOf(
  { ecosystem }: ProveDeps,
  reads: Connection,
  status: ChainStatus,
  { symbol }: PricedToken,
  token: Address,
): Promise<readonly Claim[]> {
  const chainId = status.chain.id
  const place = { token: symbol, chainId, blockNumber: status.finalizedNumber }
  const supply = await readSupplyAt(reads, place)
  const claims: Claim[] = [{ symbol, token, holder: ZERO_ADDRESS, stored: supply }]
  const sample = await sampleHolders(reads, place)
  for (const holder of new Set([...ecosystem.burnAddresses, ...sample]))
    if (holder !== ZERO_ADDRESS)
      claims.push({
        symbol,
        token,
        holder,
        stored: await readBalanceAt(reads, { ...place, address: holder }),
      })
  return claims
}

function describe({ symbol, holder, stored }: Claim, onChain: bigint): string {
  const what = holder === ZERO_ADDRESS ? 'totalSupply()' : `balanceOf(${showAddress(holder)})`
  return `${symbol}: ${what} is ${onChain}, the register has ${stored}; "sexton audit" looks for the cause`
}
