import { type Address, createPublicClient, http, parseAbi } from 'viem'
import type { ChainAt } from './chain-at.ts'
import { type Followed, lockedAddresses, tokenOf } from './local-tokens.ts'
import { type ChainEvents, readEvents } from './read-events.ts'

/** Everything a chain says about the ecosystem, in chain order, and what its contracts answer now. */
export interface ChainHistory extends ChainEvents {
  readonly chain: ChainAt
  readonly unix: number
  readonly safeNumber: number
  readonly finalizedNumber: number
  readonly finalizedUnix: number
  /** `totalSupply()` and what the locked addresses hold, by `balanceOf`. */
  supplyOf(token: Followed): Promise<{ readonly total: bigint; readonly locked: bigint }>
  balanceOf(token: Followed, owner: Address): Promise<bigint>
}

const abi = parseAbi([
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
])

/** Reads a chain by plain calls. */
export async function readChain(chain: ChainAt): Promise<ChainHistory> {
  const client = createPublicClient({
    transport: http(chain.rpcUrl, { batch: { batchSize: 100 }, timeout: 60_000 }),
  })
  const events = await readEvents(client, chain)
  const [head, safe, finalized] = await Promise.all([
    client.getBlock({ blockNumber: BigInt(chain.blockNumber) }),
    client.getBlock({ blockTag: 'safe' }),
    client.getBlock({ blockTag: 'finalized' }),
  ])
  return {
    chain,
    unix: Number(head.timestamp),
    safeNumber: Math.min(Number(safe.number), chain.blockNumber),
    finalizedNumber: Math.min(Number(finalized.number), chain.blockNumber),
    finalizedUnix: Number(finalized.timestamp),
    ...events,
    supplyOf: readSupply,
    balanceOf,
  }

  function balanceOf(token: Followed, owner: Address): Promise<bigint> {
    const address = tokenOf(token).addresses[chain.name]
    const blockNumber = BigInt(chain.blockNumber)
    return client.readContract({
      address,
      abi,
      functionName: 'balanceOf',
      args: [owner],
      blockNumber,
    })
  }

  async function readSupply(token: Followed) {
    const address = tokenOf(token).addresses[chain.name]
    const blockNumber = BigInt(chain.blockNumber)
    const total = await client.readContract({
      address,
      abi,
      functionName: 'totalSupply',
      blockNumber,
    })
    const held = await Promise.all(lockedAddresses.map((owner) => balanceOf(token, owner)))
    return { total, locked: held.reduce((sum, each) => sum + each, 0n) }
  }
}
