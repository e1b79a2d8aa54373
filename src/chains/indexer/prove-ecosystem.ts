import { from } from 'ox/AbiFunction'
import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { Chain, Ecosystem, Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Problem } from '#chains/ecosystem/problem.ts'
import { priceFieldOf } from '#chains/ecosystem/resolve-price.ts'
import { eventKinds } from '#chains/kinds/kinds.ts'
import { type Address, type Hash, showAddress } from '#domain/address.ts'
import { COIN_ADDRESS } from '#domain/token.ts'
import { callView } from './call-view.ts'
import { ProofError } from './proof-error.ts'
import { proveFinality } from './prove-finality.ts'
import { provePrices } from './prove-prices.ts'
import { findDomain, separatorOf } from './token-domain.ts'

const decimalsView = from('function decimals() view returns (uint8)')
const domainView = from('function DOMAIN_SEPARATOR() view returns (bytes32)')

interface Contract {
  readonly field: string
  readonly chain: Chain
  readonly address: Address
}

/** Throws ProofError. Returns what could not be proven, as warnings. */
export async function proveEcosystem(
  ecosystem: Ecosystem,
  sourceOf: SourceOf,
): Promise<readonly Problem[]> {
  const proofs = [
    ...ecosystem.chains.map((chain, index) =>
      proveFinality(chain, `chains[${index}].finality`, sourceOf(chain)),
    ),
    ...ecosystem.chains.map((chain, index) => proveReceipts(chain, index, sourceOf)),
    ...contractsOf(ecosystem).map((contract) => proveCode(contract, ecosystem.chains, sourceOf)),
    ...proveDecimals(ecosystem, sourceOf),
    ...provePrices(ecosystem, sourceOf),
    ...provePayment(ecosystem.payment, sourceOf),
  ]
  const chains = ecosystem.chains.map((chain, index) => proveChainId(chain, index, sourceOf))
  // All at once; a wrong chain id is reported instead of its consequences.
  const [outcomes, ofChains] = await Promise.all([
    Promise.allSettled(proofs),
    Promise.allSettled(chains),
  ])
  requireProven(ofChains)
  requireProven(outcomes)
  return outcomes.flatMap((each) => (each.status === 'fulfilled' && each.value ? [each.value] : []))
}

function requireProven(outcomes: readonly PromiseSettledResult<unknown>[]): void {
  const failures = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  const differences = failures.filter((each) => each instanceof ProofError)
  if (differences.length > 0) throw ProofError.join(differences)
  if (failures.length > 0) throw failures[0]
}

async function proveChainId(chain: Chain, index: number, sourceOf: SourceOf): Promise<void> {
  const field = `chains[${index}].rpcUrls`
  const id = await sourceOf(chain)
    .askChainId()
    .catch((error: Error) => {
      throw new ProofError(
        field,
        `no node of ${chain.name} answers (${error.message}); start it or check the URL`,
      )
    })
  if (id !== chain.id)
    throw new ProofError(
      field,
      `the node serves chain ${id}, the file says ${chain.id} (${chain.name}); write id ${id}, or correct the URL`,
    )
}

/** Some node must be able to prove a block, if `proofs` is `every`. */
async function proveReceipts(chain: Chain, index: number, sourceOf: SourceOf): Promise<void> {
  if (chain.proofs === 'deposits') return
  const source = sourceOf(chain)
  try {
    const head = await source.header('latest')
    const block = head && (await source.header(Math.max(0, head.number - PROVEN_BELOW_HEAD)))
    if (block !== undefined) await source.provenBlock(block)
  } catch (error) {
    throw new ProofError(
      `chains[${index}].proofs`,
      `no node of ${chain.name} proves its logs (${error instanceof Error ? error.message : error}); use a node that serves receipts, or write "deposits"`,
    )
  }
}

const PROVEN_BELOW_HEAD = 2

type SourceOf = (chain: Chain) => ChainSource

function contractsOf(ecosystem: Ecosystem): readonly Contract[] {
  const { chains, tokens, payment } = ecosystem
  const ofTokens = tokens.flatMap((token, index) =>
    chains.flatMap((chain) => {
      const address = token.addresses.get(chain.name)
      const isContract = address !== undefined && address !== COIN_ADDRESS
      return isContract
        ? [{ field: `tokens[${index}].addresses.${chain.name}`, chain, address }]
        : []
    }),
  )
  const ofPrices = tokens.flatMap((token, index) =>
    token.prices.flatMap((price) => {
      if (price.chain === null) return []
      const { chain, address } = price
      return [{ field: `${priceFieldOf(token, index, price)}.address`, chain, address }]
    }),
  )
  const bridges = ecosystem.file.tokens.flatMap((token, index) =>
    (token.bridges ?? []).map((_, place) => `tokens[${index}].bridges[${place}].address`),
  )
  const ofBridges = ecosystem.bridges.map(({ chain, address }, index) => ({
    field: bridges[index] ?? 'tokens',
    chain,
    address,
  }))
  const ofEvents = eventKinds.flatMap(({ part }) =>
    ecosystem[part].map(({ chain, address, made }, index) => ({
      field: `${part}[${index}].${made === undefined ? 'address' : 'contracts.factory'}`,
      chain,
      address,
    })),
  )
  const ofPayment =
    payment === null
      ? []
      : [{ field: 'payment.asset', chain: payment.chain, address: payment.asset }]
  return [...ofTokens, ...ofPrices, ...ofBridges, ...ofEvents, ...ofPayment]
}

async function proveCode(
  { field, chain, address }: Contract,
  chains: readonly Chain[],
  sourceOf: SourceOf,
): Promise<void> {
  const hasCode = async (on: Chain) => (await sourceOf(on).code(address)) !== '0x'
  if (await hasCode(chain)) return
  const places = await Promise.all(chains.map((each) => hasCode(each).catch(() => false)))
  const others = chains.filter((_, index) => places[index]).map(({ name }) => name)
  const remedy =
    others.length > 0
      ? `there is one on ${others.join(' and ')}: write that chain, or correct the address`
      : 'correct the address or the chain'
  throw new ProofError(
    field,
    `there is no contract at ${showAddress(address)} on ${chain.name}; ${remedy}`,
  )
}

function proveDecimals(ecosystem: Ecosystem, sourceOf: SourceOf): readonly Promise<void>[] {
  const { chains, tokens } = ecosystem
  return tokens.flatMap((token, index) =>
    chains.map(async (chain) => {
      const address = token.addresses.get(chain.name)
      if (address === undefined || address === COIN_ADDRESS) return
      const field = `tokens[${index}].decimals`
      const found = await callView(sourceOf(chain), { field, address, view: decimalsView })
      if (found === token.decimals) return
      const remedy = typeof found === 'number' ? `write ${found}, or correct` : 'correct'
      throw new ProofError(
        field,
        `${token.symbol} on ${chain.name} has ${found ?? 'no readable'} decimals, the file says ${token.decimals}; ${remedy} the address`,
      )
    }),
  )
}

function provePayment(payment: Payment | null, sourceOf: SourceOf): readonly Promise<void>[] {
  if (payment === null) return []
  return [proveAssetDecimals(payment, sourceOf), proveDomain(payment, sourceOf)]
}

async function proveAssetDecimals(
  { asset, chain, decimals }: Payment,
  sourceOf: SourceOf,
): Promise<void> {
  const field = 'payment.asset'
  const found = await callView(sourceOf(chain), { field, address: asset, view: decimalsView })
  if (found !== decimals)
    throw new ProofError(
      field,
      `has ${found ?? 'no readable'} decimals, must have ${decimals}; choose another asset`,
    )
}

function isHash(value: unknown): value is Hash {
  return typeof value === 'string' && value.startsWith('0x')
}

/** The asset's EIP-712 separator must match the configured domain. */
async function proveDomain({ asset, chain, domain }: Payment, sourceOf: SourceOf): Promise<void> {
  const field = 'payment.domain'
  const found = await callView(sourceOf(chain), { field, address: asset, view: domainView })
  const expected = separatorOf(domain, { chainId: chain.id, asset })
  if (found === expected) return
  const own = isHash(found) ? await findDomain(sourceOf(chain), asset, found) : undefined
  const remedy = own
    ? `write name ${JSON.stringify(own.name)}, version ${JSON.stringify(own.version)}`
    : `read name() and version() of ${showAddress(asset)}`
  throw new ProofError(
    field,
    `the asset's EIP-712 domain is not name "${domain.name}", version "${domain.version}"; ${remedy}`,
  )
}
