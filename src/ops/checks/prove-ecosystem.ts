import { decodeResult, encodeData, from } from 'ox/AbiFunction'
import { domainSeparator } from 'ox/TypedData'
import { type Address, type Hash, showAddress } from '#base/address.ts'
import { COIN_ADDRESS, isTracked } from '#base/token.ts'
import type { BlockTag, ChainSource } from '#chain/chain-source.ts'
import { asksToSlowDown, EndpointError } from '#chain/rpc-error.ts'
import { eventKinds } from '#data/kinds.ts'
import type { Chain, Ecosystem, Payment } from '#ecosystem/ecosystem.ts'
import type { Problem } from '#ecosystem/problem.ts'
import { callView, ProofError, readSupply } from '#index/call-view.ts'
import type { OpenJob } from '#index/run-jobs.ts'
import { provePrices } from './prove-prices.ts'

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
    ...listContracts(ecosystem).map((contract) => proveCode(contract, sourceOf)),
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
      `no node of ${chain.name} proves its logs (${describeError(error)}); use a node that serves receipts, or write "deposits"`,
    )
  }
}

const PROVEN_BELOW_HEAD = 2

type SourceOf = (chain: Chain) => ChainSource

function listContracts(ecosystem: Ecosystem): readonly Contract[] {
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
  const ofPrices = tokens.flatMap((token) =>
    token.prices.flatMap((price) => {
      if (price.chain === null) return []
      const { chain, address } = price
      return [{ field: `${price.field}.address`, chain, address }]
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
  return all.map((each) => proveTokenDecimals(each, sourceOf(each.chain)))
}

async function proveTokenDecimals(
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
  if ((await callView(source, { ...contract, view: supplyView })) === undefined) {
    // An address without code is reported by proveCode.
    if ((await source.code(contract.address)) === '0x') return undefined
    throw new ProofError(
      field,
      `${showAddress(contract.address)} has neither decimals() nor totalSupply(), so it is not a token; correct the address`,
    )
  }
  return { field, message: `${name} has no decimals(): the ${decimals} of the file count` }
}

function isHash(value: unknown): value is Hash {
  return typeof value === 'string' && value.startsWith('0x')
}

/** The asset's EIP-712 separator must match the configured domain. */
async function proveDomain({ asset, chain, domain }: Payment, sourceOf: SourceOf): Promise<void> {
  const field = 'payment.domain'
  const found = await callView(sourceOf(chain), { field, address: asset, view: domainView })
  if (found === hashDomain(domain, chain.id, asset)) return
  const own = isHash(found) ? await findDomain(sourceOf(chain), asset, found) : undefined
  const remedy = own
    ? `write name ${JSON.stringify(own.name)}, version ${JSON.stringify(own.version)}`
    : `read name() and version() of ${showAddress(asset)}`
  throw new ProofError(
    field,
    `the asset's EIP-712 domain is not name "${domain.name}", version "${domain.version}"; ${remedy}`,
  )
}

const DEPTH_TO_WRITE = 256

/** The node must support the tags, if `finality` is `tag`. */
async function proveFinality(
  { name, finality }: Chain,
  field: string,
  source: ChainSource,
): Promise<void> {
  if (finality !== 'tag') return
  const refusal = (words: string) =>
    new ProofError(
      field,
      `is "tag", but ${words}; write the number of blocks after which a block of ${name} is final, such as ${DEPTH_TO_WRITE}`,
    )
  const proveTag = (tag: BlockTag) =>
    source.header(tag).catch((error: unknown) => {
      const isOfTag = error instanceof EndpointError && !asksToSlowDown(error.kind)
      throw isOfTag ? refusal(`the node refuses the block "${tag}" (${error.message})`) : error
    })
  await proveTag('safe')
  if ((await proveTag('finalized')) === undefined)
    throw refusal('the node answers null for the block "finalized"')
}

/**
 * Rejects a `startBlock` after the token's first supply. Returns the reasons for chains whose node
 * lacks that state.
 */
export async function proveStartBlocks(
  ecosystem: Pick<Ecosystem, 'chains' | 'tokens'>,
  sourceOf: (chain: Chain) => ChainSource,
): Promise<ReadonlyMap<string, string>> {
  const unproven = new Map<string, string>()
  const checks = ecosystem.chains.flatMap((chain, index) =>
    ecosystem.tokens.filter(isTracked).map(async ({ symbol, addresses }) => {
      const address = addresses.get(chain.name)
      if (address === undefined || chain.startBlock === 0) return
      const last = chain.startBlock - 1
      const source = sourceOf(chain)
      const before = await readSupply(source, address, last).catch(describeError)
      if (typeof before === 'string') unproven.set(chain.name, before)
      else if (before > 0n)
        throw new ProofError(
          `chains[${index}].startBlock`,
          `${chain.startBlock} is too late: ${symbol} on ${chain.name} had a supply before it, whose transfers would be missing; ${await blockToWrite(source, address, last)}`,
        )
    }),
  )
  requireProven(await Promise.allSettled(checks))
  return unproven
}

async function blockToWrite(
  source: ChainSource,
  token: Address,
  supplied: number,
): Promise<string> {
  try {
    return `write ${await findCreation(source, token, supplied)} or an earlier block`
  } catch (error) {
    return `write the block of the token's deployment (the node keeps no state old enough to find it: ${describeError(error)})`
  }
}

/** Bisects to the block of a contract's creation; throws where the node's state does not go back so far. */
export async function findCreation(
  source: ChainSource,
  contract: Address,
  created: number,
): Promise<number> {
  let low = -1
  let high = created
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if ((await source.code(contract, middle)) === '0x') low = middle
    else high = middle
  }
  return high
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export interface TokenDomain {
  readonly name: string
  readonly version: string
}

function hashDomain(domain: TokenDomain, chainId: number, asset: Address): string {
  return domainSeparator({ ...domain, chainId, verifyingContract: asset })
}

/** Versions to try for tokens without `version()`. */
const USUAL_VERSIONS = ['1', '2'] as const

export async function findDomain(
  source: ChainSource,
  asset: Address,
  separator: string,
): Promise<TokenDomain | undefined> {
  const [name, version] = await Promise.all([
    readText(source, asset, 'name'),
    readText(source, asset, 'version'),
  ])
  if (name === undefined) return undefined
  return [version, ...USUAL_VERSIONS]
    .flatMap((each) => (each === undefined ? [] : [{ name, version: each }]))
    .find((domain) => hashDomain(domain, source.chainId, asset) === separator)
}

async function readText(source: ChainSource, asset: Address, name: 'name' | 'version') {
  const view = from(`function ${name}() view returns (string)`)
  try {
    return decodeResult(view, await source.call(asset, encodeData(view)))
  } catch {
    return undefined
  }
}
