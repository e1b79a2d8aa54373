import { type Address, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import { isObject } from '#base/json.ts'
import { formatDecimal } from '#base/money.ts'
import { countOf } from '#base/text.ts'
import type { Clock } from '#base/time.ts'
import { TRANSFER_TOPIC } from '#base/token.ts'
import type { ChainSource, SourceLog } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { mappingWarnings } from '#data/kinds.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { type EventSource, indexedOf } from '#ecosystem/event-source.ts'
import { loadEcosystem } from '#ecosystem/load-ecosystem.ts'
import { EcosystemError, type Problem } from '#ecosystem/problem.ts'
import { ProofError } from '#index/call-view.ts'
import { fitting, keyOfSource } from '#index/decode-event.ts'
import { findContract } from '#index/found-contracts.ts'
import { type Mapping, mappingsOf } from '#index/mappings.ts'
import { proveEcosystem, proveStartBlocks } from '#index/prove-ecosystem.ts'
import { readSupply } from '#index/token-contract.ts'
import { messageOf } from '#ops/setup/discover/chain-view.ts'
import { proveWaysToPay } from '#payments/x402/paying-ways.ts'
import { openNode } from './node.ts'
import { describeRow, type ReadLog, readMapping, whyNotRead } from './read-mapping.ts'
import { type Scan, scanBack } from './scan-back.ts'

interface CheckedFile {
  readonly errors: readonly Problem[]
  readonly warnings: readonly Problem[]
  readonly unchecked: readonly string[]
  /** What the code of mappings makes of the newest logs. */
  readonly rows: readonly Problem[]
}

interface CheckDeps {
  readonly clock: Clock
  onProgress(task: string, done: number, total: number): void
}

export async function checkFile(
  deps: CheckDeps,
  { file, offline }: { readonly file: string; readonly offline: boolean },
): Promise<CheckedFile> {
  const ecosystem = await loadEcosystem(file).catch((error: unknown) => {
    if (error instanceof EcosystemError) return error
    throw error
  })
  if (ecosystem instanceof EcosystemError)
    return { errors: ecosystem.problems, warnings: [], unchecked: [], rows: [] }
  const repeated = mappingWarnings(ecosystem)
  if (offline) return { errors: [], warnings: repeated, unchecked: [], rows: [] }
  const endpoints = await checkEndpoints(ecosystem.chains, deps.clock)
  const useless = endpoints.filter(({ isUsable }) => !isUsable)
  const dead = ecosystem.chains.filter(({ rpcUrls }, index) =>
    rpcUrls.every((_, place) => useless.some(({ field }) => field === fieldOf(index, place))),
  )
  if (dead.length > 0) {
    const names = dead.map(({ name }) => name).join(', ')
    const unchecked = [`all else about the chains: ${names} cannot be asked`]
    return { errors: useless, warnings: repeated, unchecked, rows: [] }
  }
  const sourceOf = openSources(ecosystem)
  const steps = [
    async () => ({ warnings: await proveEcosystem(ecosystem, sourceOf) }),
    async () => {
      const unproven = await proveStartBlocks(ecosystem, sourceOf)
      const say = ([chain, reason]: [string, string]) =>
        `startBlock of ${chain}: no node has the state before it (${reason})`
      return { unchecked: [...unproven].map(say) }
    },
    () => judgeMappings(deps, ecosystem, sourceOf),
    () => judgePayments(deps, ecosystem),
    () => judgeSupplies(ecosystem, sourceOf),
  ]
  let done = 0
  const outcomes = await Promise.all(
    steps.map(async (step) => {
      const outcome = await settle(step)
      done += 1
      deps.onProgress('checking against the chains', done, steps.length)
      return outcome
    }),
  )
  const errors = outcomes.flatMap((each) => each.errors ?? [])
  const warnings = outcomes.flatMap((each) => each.warnings ?? [])
  // Payments that fail under a wrong domain are its consequence.
  const isWrongDomain = errors.some(({ field }) => field === 'payment.domain')
  const shown = warnings.filter(({ field }) => !isWrongDomain || field !== 'payment.asset')
  return {
    errors,
    warnings: [...repeated, ...endpoints, ...shown],
    unchecked: [...new Set(outcomes.flatMap(({ unchecked = [] }) => unchecked))],
    rows: outcomes.flatMap(({ rows = [] }) => rows),
  }
}

type Outcome = Partial<CheckedFile>

async function settle(step: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await step()
  } catch (error) {
    if (error instanceof ProofError) return { errors: error.problems }
    if (error instanceof RpcError) return { unchecked: [error.message] }
    throw error
  }
}

function openSources({ chains }: Ecosystem): (chain: Chain) => ChainSource {
  const sources = new Map(
    chains.map(({ id, rpcUrls }) => [id, openRpcSource({ chainId: id, urls: rpcUrls })]),
  )
  return ({ id }) => {
    const source = sources.get(id)
    if (source === undefined) throw new Error(`chain ${id} has no source`)
    return source
  }
}

/** Transfers buy balance even where the token lacks EIP-3009 or a part of it. */
async function judgePayments({ clock }: CheckDeps, { payment }: Ecosystem): Promise<Outcome> {
  if (payment === null) return {}
  try {
    const messages = await proveWaysToPay(payment, clock)
    return { warnings: messages.map((message) => ({ field: 'payment.asset', message })) }
  } catch (error) {
    return { unchecked: [`who can pay by x402 on ${payment.chain.name}: ${messageOf(error)}`] }
  }
}

/** Further back, an archive node has the state; near the head, any node. */
const SUPPLY_SPANS = [5_000, 100]

/** Supply and balances follow `Transfer` alone: warns of a token that mints or burns without it. */
async function judgeSupplies(
  { chains, tokens, primary, secondary }: Ecosystem,
  sourceOf: (chain: Chain) => ChainSource,
): Promise<Outcome> {
  const tracked = [primary, secondary].flatMap((token) => token ?? [])
  const judged = await Promise.all(
    tracked.flatMap((token) =>
      [...token.addresses].map(async ([name, address]) => {
        const chain = chains.find((each) => each.name === name)
        const change = chain && (await changeOfSupply(sourceOf(chain), chain, address))
        if (change === undefined || change.bySupply === change.byTransfers) return []
        const show = (amount: bigint) => formatDecimal(amount, token.decimals)
        const message = `in blocks ${change.from} to ${change.to} totalSupply() changed by ${show(change.bySupply)} and its Transfer events by ${show(change.byTransfers)}: what is minted or burned without a Transfer is not seen, so supply and market cap are wrong, and holders null once a balance falls below zero`
        return [{ field: `tokens[${tokens.indexOf(token)}].addresses.${name}`, message }]
      }),
    ),
  )
  return { warnings: judged.flat() }
}

async function changeOfSupply(source: ChainSource, { startBlock }: Chain, token: Address) {
  const head = await source.header('latest')
  if (head === undefined) return undefined
  const to = head.number
  let failure: RpcError | undefined
  for (const span of SUPPLY_SPANS) {
    const from = Math.max(startBlock, to - span)
    try {
      const before = await readSupply(source, token, from)
      const after = await readSupply(source, token, to)
      const filter = { addresses: [token], topics: [[TRANSFER_TOPIC]] }
      const logs = await source.logsInRange(filter, from + 1, to)
      const bySupply = after - before
      const minted = sumOf(logs.filter(({ topics }) => BigInt(topics[1] ?? 1) === 0n))
      const burned = sumOf(logs.filter(({ topics }) => BigInt(topics[2] ?? 1) === 0n))
      // Some contracts, such as WETH9, keep in totalSupply() what the zero address was sent.
      const byTransfers = bySupply === minted ? minted : minted - burned
      return { from: from + 1, to, bySupply, byTransfers }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      failure = error
    }
  }
  throw failure ?? new Error('no span of blocks was tried')
}

function sumOf(logs: readonly SourceLog[]): bigint {
  return logs.reduce((sum, { data }) => sum + BigInt(data === '0x' ? 0 : data.slice(0, 66)), 0n)
}

const SEARCH_MS = 10_000

const SAMPLE = 20

/** A mapping may be right without a log yet; one that cannot read its logs is wrong. */
async function judgeMappings(
  { clock }: CheckDeps,
  ecosystem: Ecosystem,
  sourceOf: (chain: Chain) => ChainSource,
): Promise<Outcome> {
  const mappings = mappingsOf(ecosystem)
  const judged = await Promise.all(
    mappings.map(async (mapping) => {
      const chain = sourceOf(mapping.source.chain)
      const head = await chain.header('latest')
      if (head === undefined) return {}
      const { source } = mapping
      const ofKey = mappings.filter((each) => keyOfSource(each.source) === keyOfSource(source))
      const deps = { source: chain, clock }
      const untilMs = clock() + SEARCH_MS
      const range = { from: source.chain.startBlock, to: head.number, untilMs }
      const addresses = await findEmitters(deps, source, range)
      const filter = { addresses, topics: [[source.topic0]] }
      const { logs: found, from } = await scanBack(deps, { ...range, filter, enough: SAMPLE })
      // A factory does not emit the events of what it makes.
      const contract = addresses.find(
        (each) => source.made === undefined || each !== source.address,
      )
      if (found.length === 0 && contract !== undefined && !(await mayEmit(chain, contract, source)))
        return unknownEvent(mapping, contract)
      const sources = ofKey.map((each) => each.source)
      const logs = found.filter((log) => fitting(sources, log).includes(source))
      const reads = await Promise.all(logs.map((log) => readMapping(chain, source, log)))
      return judgeLogs(ecosystem, mapping, { logs, reads, from, to: head.number })
    }),
  )
  return {
    errors: judged.flatMap(({ errors = [] }) => errors),
    warnings: judged.flatMap(({ warnings = [] }) => warnings),
    rows: judged.flatMap(({ rows = [] }) => rows),
  }
}

/** Solidity and Vyper push the topic of an event; a proxy emits what another contract's code says. */
async function mayEmit(
  chain: ChainSource,
  contract: Address,
  { topic0 }: Pick<EventSource, 'topic0'>,
): Promise<boolean> {
  const code = await chain.code(contract)
  // Compilers push constants without leading zeros.
  return code.includes(topic0.slice(2).replace(/^(?:00)+/, '')) || delegates(code)
}

const PUSH1 = 0x60
const PUSH32 = 0x7f
const DELEGATECALL = 0xf4

function delegates(code: `0x${string}`): boolean {
  const bytes = Buffer.from(code.slice(2), 'hex')
  for (let at = 0; at < bytes.length; at += 1) {
    const opcode = bytes[at] ?? 0
    if (opcode === DELEGATECALL) return true
    if (opcode >= PUSH1 && opcode <= PUSH32) at += opcode - PUSH1 + 1
  }
  return false
}

function unknownEvent({ name, source }: Mapping, contract: Address): Outcome {
  const message = `the code of ${showAddress(contract)} has no event ${source.event.name}(${source.event.inputs.map(({ type }) => type).join(',')}), and none was found; check the name and the types of its arguments`
  return { errors: [{ field: `${name}.event`, message }] }
}

interface Sample {
  readonly logs: readonly SourceLog[]
  /** What became of each log. */
  readonly reads: readonly ReadLog[]
  readonly from: number
  readonly to: number
}

function judgeLogs(ecosystem: Ecosystem, mapping: Mapping, sample: Sample): Outcome {
  const { name, source } = mapping
  const { logs, reads } = sample
  const indexed = indexedOf(source.event)
  const unfit = logs.filter(({ topics }) => topics.length - 1 !== indexed)
  const [first] = unfit
  if (first !== undefined)
    return {
      errors: [
        {
          field: `${name}.event`,
          message: `${unfit.length} of the last ${countOf(logs.length, 'log')} have ${countOf(first.topics.length - 1, 'indexed argument')}, the event has ${indexed}; write "indexed" as the contract does`,
        },
      ],
    }
  const rows = source.code === undefined ? [] : showRows(ecosystem, mapping, sample)
  const unread =
    source.code === undefined ? undefined : reads.find((each) => each.kind === 'anomaly')
  if (unread !== undefined)
    return { rows, errors: [{ field: `${name}.rows`, message: whyNotRead(unread) }] }
  const { warnings = [] } = judgeReadings(ecosystem, mapping, sample)
  return { rows, warnings: [...tellUncounted(name, reads), ...warnings] }
}

function judgeReadings(
  { burnAddresses }: Ecosystem,
  { name }: Mapping,
  { reads, from, to }: Sample,
): Outcome {
  const readings = reads.flatMap((each) => (each.kind === 'rows' ? each.rows : []))
  if (readings.length === 0 && reads.every(({ kind }) => kind !== 'anomaly'))
    return warn(name, `no log in blocks ${from} to ${to} matches; check event, address and "where"`)
  const nowhere = new Set<string>([ZERO_ADDRESS, ...burnAddresses])
  const accounts = new Set(readings.map(({ account }) => account))
  const [only] = accounts
  if (
    readings.length > 0 &&
    readings.every(({ account }) => account !== null && nowhere.has(account))
  )
    return warn(
      name,
      'every account is the zero address or a burn address; are the arguments swapped?',
    )
  if (readings.length > 3 && accounts.size === 1 && only)
    return warn(
      name,
      `every one of the last ${readings.length} events names the same account, ${showAddress(only)}; is the argument the right one?`,
    )
  return {}
}

function tellUncounted(field: string, reads: readonly ReadLog[]): readonly Problem[] {
  const unread = reads.filter((each) => each.kind === 'anomaly')
  const last = unread.at(-1)
  if (last === undefined) return []
  const message = `${unread.length} of the last ${countOf(reads.length, 'log')}: ${whyNotRead(last)}`
  return [{ field, message }]
}

function warn(field: string, message: string): Outcome {
  return { warnings: [{ field, message }] }
}

const SHOWN_LOGS = 3

function showRows(
  ecosystem: Ecosystem,
  { name, source }: Mapping,
  { logs, reads }: Sample,
): readonly Problem[] {
  return logs.slice(-SHOWN_LOGS).flatMap(({ blockNumber, logIndex }, index) => {
    const read = reads.slice(-SHOWN_LOGS)[index]
    const at = `block ${blockNumber}, log ${logIndex}`
    if (read?.kind === 'left-out')
      return [
        {
          field: name,
          message: `${at}: left out by ${read.by === 'code' ? source.code?.file : 'where'}`,
        },
      ]
    if (read?.kind !== 'rows') return []
    return read.rows.map((row, place) => ({
      field: name,
      message: `${at}, row ${place}: ${describeRow(ecosystem, row)}`,
    }))
  })
}

interface EndpointProblem extends Problem {
  /** False if it answers nothing, or for another chain. */
  readonly isUsable: boolean
}

/** Asks each endpoint by itself: the others would cover for one that is wrong. */
export async function checkEndpoints(
  chains: readonly Chain[],
  clock: Clock,
): Promise<readonly EndpointProblem[]> {
  const judged = await Promise.all(
    chains.flatMap((chain, index) =>
      chain.rpcUrls.map(async (url, place) => {
        const problem = await judgeEndpoint(chain, url, clock)
        return problem === undefined ? [] : [{ field: fieldOf(index, place), ...problem }]
      }),
    ),
  )
  return judged.flat()
}

function fieldOf(chain: number, place: number): string {
  return `chains[${chain}].rpcUrls[${place}]`
}

/** Blocks may be this far ahead of this machine's clock. */
const CLOCK_SECONDS = 5

async function judgeEndpoint(
  chain: Chain,
  url: string,
  clock: Clock,
): Promise<Omit<EndpointProblem, 'field'> | undefined> {
  const node = openNode(url)
  const useless = (message: string) => ({ message, isUsable: false })
  const doubtful = (message: string) => ({ message, isUsable: true })
  try {
    const id = Number(await node.ask('eth_chainId'))
    if (id !== chain.id)
      return useless(`serves chain ${id}, the file says ${chain.id}; correct the URL or the id`)
    const head = await node.ask('eth_getBlockByNumber', 'latest', false)
    const { number, timestamp } = isObject(head) ? head : {}
    if (Number(number) < chain.startBlock)
      return useless(
        `its head is block ${Number(number)}, below startBlock ${chain.startBlock}; correct startBlock, or the URL if the node lags`,
      )
    const ageSeconds = clock() / 1_000 - Number(timestamp)
    if (ageSeconds > chain.staleAfterSeconds)
      return doubtful(
        `its head is ${Math.round(ageSeconds)} s old: the node lags, or the chain stands still`,
      )
    if (ageSeconds < -CLOCK_SECONDS)
      return doubtful(
        `its head is ${Math.round(-ageSeconds)} s in the future: this machine's clock is slow; run NTP`,
      )
    return undefined
  } catch (error) {
    return useless(`does not answer (${messageOf(error)}); check the URL, or start the node`)
  }
}

/** The contract of a mapping, or the newest ones that its factory made, which then count as found. */
export async function findEmitters(
  deps: Parameters<typeof scanBack>[0],
  { made, address }: Pick<EventSource, 'made' | 'address'>,
  range: Pick<Scan, 'from' | 'to' | 'untilMs'>,
): Promise<readonly Address[]> {
  if (made === undefined) return [address]
  const filter = { addresses: [address], topics: [[made.event.topic0]] }
  const { logs } = await scanBack(deps, { ...range, filter, enough: ENOUGH })
  const contracts = new Set<Address>()
  for (const log of logs.slice(-ENOUGH)) {
    const contract = findContract(made, log)
    if (contract === undefined) continue
    made.found.add([[contract, log.blockNumber]])
    contracts.add(contract)
  }
  // The factory itself emits nothing of the event, which then shows as no log.
  return contracts.size === 0 ? [address] : [...contracts]
}

/** Any endpoint takes as many addresses. */
const ENOUGH = 100
