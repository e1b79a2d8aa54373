import type { ChainSource } from '#chain/chain-source.ts'
import type { LogFilter } from '#chain/log-filter.ts'
import { type Address, type Hash, ZERO_ADDRESS } from '#domain/address.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { askContract } from '#indexer/token-contract.ts'

export interface Difference {
  readonly token: Address
  /** The zero address stands for the supply. */
  readonly holder: Address
  readonly stored: bigint
  readonly onChain: bigint
}

export interface Trace {
  /** The first block whose transfers do not sum to the balance. */
  readonly firstWrongBlock: number | null
  /** Hosts that lack a transfer which another host shows. */
  readonly prunedHosts: readonly string[]
  readonly cause: string
  readonly isReadable: boolean
}

/**
 * Sums each endpoint's transfers of the holder and bisects to the first block that disagrees with
 * the contract.
 */
export async function traceDifference(
  source: ChainSource,
  difference: Difference,
  range: { readonly from: number; readonly to: number },
): Promise<Trace> {
  const accounts = await Promise.all(
    source.each().map(async ({ host, source: one }) => ({
      host,
      source: one,
      steps: await readSteps(one, difference, range).catch(() => undefined),
    })),
  )
  const answering = accounts.filter((each) => each.steps !== undefined)
  const sumOf = (steps: readonly Step[] = []) => balanceAt(steps, difference.holder, range.to)
  const right = answering.filter(({ steps }) => sumOf(steps) === difference.onChain)
  const wrong = answering.filter(({ steps }) => sumOf(steps) !== difference.onChain)
  const [witness] = right
  if (witness !== undefined) {
    const lacking = wrong
      .map(({ host, steps = [] }) => ({ host, block: firstMissing(witness.steps ?? [], steps) }))
      .filter(({ block }) => block !== null)
    const prunedHosts = lacking.map(({ host }) => host)
    return {
      firstWrongBlock: lacking[0]?.block ?? null,
      prunedHosts,
      isReadable: true,
      cause:
        lacking.length === 0
          ? 'all transfers are on the chain; the register itself is wrong'
          : `${prunedHosts.join(', ')} lacks transfers that ${witness.host} has`,
    }
  }
  const [first] = wrong
  if (first === undefined)
    return {
      firstWrongBlock: null,
      prunedHosts: [],
      cause: 'no endpoint returned the transfers',
      isReadable: false,
    }
  return bisect(first.host, first.source, first.steps ?? [], difference, range)
}

interface Step {
  readonly block: number
  readonly change: bigint
}

async function readSteps(
  source: ChainSource,
  { token, holder }: Difference,
  range: { readonly from: number; readonly to: number },
): Promise<readonly Step[]> {
  const topic: Hash = `0x${holder.slice(2).padStart(64, '0')}`
  const changes = new Map<number, bigint>()
  for (const [topics, sign] of [
    [[[TRANSFER_TOPIC], [topic]], -1n],
    [[[TRANSFER_TOPIC], null, [topic]], 1n],
  ] as const) {
    const filter: LogFilter = {
      addresses: [token],
      topics,
      pairs: [{ address: token, topic0: TRANSFER_TOPIC }],
    }
    for await (const { columns } of source.history({ ...range, filter }))
      for (let index = 0; index < columns.count; index += 1) {
        const log = columns.log(index)
        const before = changes.get(log.blockNumber) ?? 0n
        changes.set(log.blockNumber, before + sign * BigInt(log.data))
      }
  }
  return [...changes]
    .map(([block, change]) => ({ block, change }))
    .sort((a, b) => a.block - b.block)
}

/** Its sum is minus the supply. */
function balanceAt(steps: readonly Step[], holder: Address, block: number): bigint {
  const sum = steps.reduce((total, step) => (step.block <= block ? total + step.change : total), 0n)
  return holder === ZERO_ADDRESS ? -sum : sum
}

function firstMissing(whole: readonly Step[], partial: readonly Step[]): number | null {
  const known = new Map(partial.map(({ block, change }) => [block, change]))
  return whole.find(({ block, change }) => known.get(block) !== change)?.block ?? null
}

/** No endpoint's transfers explain the balance: find the first block that disagrees. */
async function bisect(
  host: string,
  source: ChainSource,
  steps: readonly Step[],
  difference: Difference,
  range: { readonly from: number; readonly to: number },
): Promise<Trace> {
  const { token, holder } = difference
  let low = range.from - 1
  let high = range.to
  try {
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      const onChain = await askContract(source, token, holder, middle)
      if (onChain === balanceAt(steps, holder, middle)) low = middle
      else high = middle
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return {
      firstWrongBlock: null,
      prunedHosts: [],
      isReadable: false,
      cause: `the transfers of ${host} do not explain it, and its older states cannot be read (${reason})`,
    }
  }
  return { firstWrongBlock: high, prunedHosts: [], isReadable: false, cause: UNEXPLAINED }
}

/** Without a second opinion, a missing transfer and one that never was look alike. */
const UNEXPLAINED =
  'no endpoint returns transfers that explain it: the Transfer event of the token has another shape, it moves balances without Transfer events (rebasing, fees), so that its holders cannot be followed, or every endpoint lacks old history; add an archive endpoint to tell them apart'
