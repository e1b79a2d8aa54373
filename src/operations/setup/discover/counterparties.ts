import { type Address, parseAddress, ZERO_ADDRESS } from '#domain/address.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { scanBack } from '../scan-back.ts'
import { toAddress } from './burn-habits.ts'
import { ask, type ChainView } from './chain-view.ts'
import { contractsAmong, siblingsOf } from './token-facts.ts'

const BUDGET_MS = 20_000
const TRANSFERS_MAX = 2_000
const CONTRACTS_MAX = 40

/** Views by which tokens with dividends name the contract that pays them. */
const LINKS = ['dividendTracker', 'distributor', 'dividendDistributor', 'rewardsDistributor']

/**
 * Contracts that may be pools or pay holders: what the token names, what its deployer created, and
 * who moves most of the token lately.
 */
export async function contractsAround(
  view: ChainView,
  token: Address,
  { firstBlock, more }: { readonly firstBlock: number; readonly more: readonly Address[] },
): Promise<readonly Address[]> {
  const { logs } = await scanBack(view, {
    filter: { addresses: [token], topics: [[TRANSFER_TOPIC]] },
    from: firstBlock,
    to: view.headNumber,
    enough: TRANSFERS_MAX,
    untilMs: view.clock() + BUDGET_MS,
  })
  const counts = new Map<Address, number>()
  for (const { topics } of logs)
    for (const topic of topics.slice(1, 3)) {
      const address = toAddress(topic)
      if (address !== ZERO_ADDRESS) counts.set(address, (counts.get(address) ?? 0) + 1)
    }
  const frequent = [...counts].sort(([, a], [, b]) => b - a).map(([address]) => address)
  const [linked, siblings, movers] = await Promise.all([
    Promise.all(LINKS.map((name) => readLink(view, token, name))),
    siblingsOf(view, token, firstBlock),
    contractsAmong(view, frequent.slice(0, CONTRACTS_MAX * 2)),
  ])
  const named = linked.filter((each) => each !== undefined)
  return [...new Set([token, ...more, ...named, ...siblings, ...movers.slice(0, CONTRACTS_MAX)])]
}

async function readLink(view: ChainView, token: Address, name: string) {
  const found = await ask(view, token, `${name}() view returns (address)`)
  const address = typeof found === 'string' ? parseAddress(found.toLowerCase()) : undefined
  return address === ZERO_ADDRESS ? undefined : address
}
