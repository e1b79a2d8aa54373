import { from } from 'ox/AbiFunction'
import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { Chain, Ecosystem, Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Problem } from '#chains/ecosystem/problem.ts'
import { priceFieldOf } from '#chains/ecosystem/resolve-price.ts'
import { eventKinds } from '#chains/kinds/kinds.ts'
import { type Address, type Hash, showAddress } from '#domain/address.ts'
import { COIN_ADDRESS } from '#domain/token.ts'
import type { OpenJob } from '#operations/jobs/run-jobs.ts'
import { callView } from './call-view.ts'
import { ProofError } from './proof-error.ts'
import { proveFinality } from './prove-finality.ts'
import { provePrices } from './prove-prices.ts'
import { findDomain, separatorOf } from './token-domain.ts'

const decimalsView = from('function decimals() view returns (uint8)')
const supplyView = from('function totalSupply() view returns (uint256)')
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
    ...contractsOf(ecosystem).map((contract) => proveCode(contract, sourceOf)),
    ...proveDecimals(ecosystem, sourceOf),
    ...provePrices(ecosystem, sourceOf),
    ...(ecosystem.payment === null ? [] : [proveDomain(ecosystem.payment, sourceOf)]),
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

async function proveCode({ field, chain, address }: Contract, sourceOf: SourceOf): Promise<void> {
  if ((await sourceOf(chain).code(address)) !== '0x') return
  throw new ProofError(
    field,
    `there is no contract at ${showAddress(address)} on ${chain.name}; correct the address or the chain`,
  )
}

/** A contract counts in other units than the file says. */
class DecimalsError extends ProofError {}

/** A contract behind a proxy may come to count in other units: the process ends, as it would not have started. */
export function watchDecimals(
  ecosystem: Ecosystem,
  sourceOf: SourceOf,
  changed: AbortController,
): OpenJob {
  return {
    name: 'decimals',
    everySeconds: 1_800,
    budgetSeconds: 60,
    whileFailing: 'a token that comes to count in other units is not noticed',
    async run() {
      const outcomes = await Promise.allSettled(proveDecimals(ecosystem, sourceOf))
      const failures = outcomes.flatMap((each) => (each.status === 'rejected' ? each.reason : []))
      const found = failures.find((each) => each instanceof DecimalsError)
      if (found !== undefined) changed.abort(found)
      else if (failures.length > 0) throw failures[0]
    },
  }
}

/** Each rejects with DecimalsError if the contract says so, or gives a warning where it does not say. */
function proveDecimals(
  { chains, tokens, payment }: Ecosystem,
  sourceOf: SourceOf,
): readonly Promise<Problem | undefined>[] {
  const ofTokens = tokens.flatMap(({ symbol, decimals, addresses }, index) =>
    chains.flatMap((chain) => {
      const address = addresses.get(chain.name)
      if (address === undefined || address === COIN_ADDRESS) return []
      const apart = addresses.size > 1 ? 'list it here as a token of its own, or ' : ''
      const remedy = `write that, or ${apart}correct the address`
      const field = `tokens[${index}].decimals`
      return { field, chain, address, name: `${symbol} on ${chain.name}`, decimals, remedy }
    }),
  )
  const remedy = 'choose another asset'
  const ofAsset = payment && { ...payment, field: 'payment.asset', name: payment.symbol, remedy }
  const all = ofAsset ? [...ofTokens, { ...ofAsset, address: ofAsset.asset }] : ofTokens
  return all.map((each) => proveDecimalsOf(each, sourceOf(each.chain)))
}

async function proveDecimalsOf(
  contract: Contract & {
    readonly name: string
    readonly decimals: number
    readonly remedy: string
  },
  source: ChainSource,
): Promise<Problem | undefined> {
  const { field, name, decimals, remedy } = contract
  const found = await callView(source, { ...contract, view: decimalsView })
  if (found === decimals) return undefined
  if (typeof found === 'number')
    throw new DecimalsError(field, `${name} has ${found} decimals, not ${decimals}; ${remedy}`)
  if ((await callView(source, { ...contract, view: supplyView })) === undefined)
    throw new ProofError(
      field,
      `${showAddress(contract.address)} has neither decimals() nor totalSupply(), so it is not a token; correct the address`,
    )
  return { field, message: `${name} has no decimals(): the ${decimals} of the file count` }
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
