import { ask, type Wallet } from './wallet.ts'

const TRANSFER = '0xa9059cbb'
const BALANCE_OF = '0x70a08231'
/** keccak256 of `Transfer(address,address,uint256)`. */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const word = (hex: string) => hex.replace(/^0x/, '').toLowerCase().padStart(64, '0')

/** A dollar is a million base units of USDC; an amount of more than 6 decimals is not one. */
export function toMicro(usd: string): bigint | undefined {
  const [, units = '', rest = ''] = /^([0-9]{1,7})(?:\.([0-9]{1,6}))?$/.exec(usd.trim()) ?? []
  return units === '' ? undefined : BigInt(units) * 1_000_000n + BigInt(rest.padEnd(6, '0'))
}

/** Such as `$1.00` or `$1.999999`: nothing is rounded that will be sent. */
export function exactUsd(micro: bigint): string {
  const [units, decimals] = splitMicro(micro)
  return `$${units}.${decimals.replace(/0{1,4}$/, '')}`
}

/** Whole units and six decimals. */
function splitMicro(micro: bigint): readonly [string, string] {
  const digits = micro.toString().padStart(7, '0')
  return [BigInt(digits.slice(0, -6)).toLocaleString('en'), digits.slice(-6)]
}

/** How many calls an amount pays for, cut; the price is in decimal dollars. */
export function callsFor(micro: bigint, perCallUsd: string): bigint {
  const [units = '0', rest = ''] = perCallUsd.split('.')
  const price = BigInt(units + rest)
  return price === 0n ? 0n : (micro * 10n ** BigInt(rest.length)) / (price * 1_000_000n)
}

export async function balanceOf({ provider, address }: Wallet, asset: string): Promise<bigint> {
  const call = { to: asset, data: BALANCE_OF + word(address) }
  return BigInt(String(await ask(provider, 'eth_call', [call, 'latest'])))
}

/** Returns the hash of the transaction once the wallet has sent it. */
export async function sendTransfer(
  { provider, address }: Wallet,
  input: {
    readonly chainId: number
    readonly asset: string
    readonly to: string
    readonly amount: bigint
  },
): Promise<string> {
  const data = TRANSFER + word(input.to) + word(input.amount.toString(16))
  // A wallet that has changed its network meanwhile refuses.
  const chainId = `0x${input.chainId.toString(16)}`
  const call = { from: address, to: input.asset, data, chainId }
  return String(await ask(provider, 'eth_sendTransaction', [call]))
}

export interface FoundTransfer {
  readonly txHash: string
  readonly amount: bigint
  readonly payer: string
}

/** About half an hour on base: a page that was closed in the middle of a payment finds it again. */
const BLOCKS_BACK = 1_000
const TRANSFERS_MAX = 5

/** Transfers of the wallet to the payee, newest first. */
export async function recentTransfers(
  { provider, address }: Wallet,
  { asset, to }: { readonly asset: string; readonly to: string },
): Promise<readonly FoundTransfer[]> {
  const head = Number(await ask(provider, 'eth_blockNumber'))
  const filter = {
    address: asset,
    fromBlock: `0x${Math.max(0, head - BLOCKS_BACK).toString(16)}`,
    toBlock: 'latest',
    topics: [TRANSFER_TOPIC, `0x${word(address)}`, `0x${word(to)}`],
  }
  const logs = (await ask(provider, 'eth_getLogs', [filter])) as readonly Log[]
  const own: FoundTransfer[] = []
  for (const { transactionHash: txHash, data } of logs.slice(-TRANSFERS_MAX).reverse()) {
    const sent = (await ask(provider, 'eth_getTransactionByHash', [txHash])) as {
      readonly from: string
    } | null
    // An authorization is sent, and credited, by the operator.
    if (sent?.from.toLowerCase() === address.toLowerCase())
      own.push({ txHash, amount: BigInt(data), payer: address })
  }
  return own
}

interface Log {
  readonly address: string
  readonly transactionHash: string
  readonly data: string
  readonly topics: readonly string[]
}

interface Receipt {
  readonly status: string
  readonly logs: readonly Log[]
}

/** The transfer to the payee in a transaction; undefined if it is not in a block or has none. */
export async function transferIn(
  { provider }: Wallet,
  { asset, to, txHash }: { readonly asset: string; readonly to: string; readonly txHash: string },
): Promise<FoundTransfer | undefined> {
  const receipt = (await ask(provider, 'eth_getTransactionReceipt', [txHash])) as Receipt | null
  const log = receipt?.logs.find(
    ({ address, topics }) =>
      address.toLowerCase() === asset.toLowerCase() &&
      topics[0] === TRANSFER_TOPIC &&
      topics[2] === `0x${word(to)}`,
  )
  if (log === undefined) return undefined
  return { txHash, amount: BigInt(log.data), payer: `0x${log.topics[1]?.slice(-40)}` }
}

/** Whether the wallet has sent a transaction that is in no block yet. */
export async function hasPending({ provider, address }: Wallet): Promise<boolean> {
  const [sent, mined] = await Promise.all(
    ['pending', 'latest'].map((block) =>
      ask(provider, 'eth_getTransactionCount', [address, block]),
    ),
  )
  return Number(sent) > Number(mined)
}

/** Undefined while it waits for a block. */
export async function hasFailed(
  { provider }: Wallet,
  txHash: string,
): Promise<boolean | undefined> {
  const receipt = (await ask(provider, 'eth_getTransactionReceipt', [txHash])) as Receipt | null
  return receipt === null ? undefined : Number(receipt.status) === 0
}
