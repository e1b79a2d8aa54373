import { fromHex } from 'ox/Rlp'

type Hex = `0x${string}`

/** What of a receipt its block's `receiptsRoot` commits to, as `eth_getBlockReceipts` writes it. */
export interface WireReceipt {
  readonly type?: string | null
  /** Absent before Byzantium, where `root` stands in its place. */
  readonly status?: string | null
  readonly root?: string | null
  readonly cumulativeGasUsed: string
  readonly logsBloom: string
  readonly logs: readonly {
    readonly address: string
    readonly topics: readonly string[]
    readonly data: string
  }[]
  readonly depositNonce?: string | null
  readonly depositReceiptVersion?: string | null
}

/**
 * A receipt as a leaf of its block's receipt trie (EIP-658, EIP-2718). All types share one shape; only
 * deposits of the OP stack add their nonce and version, from Canyon on (OP specs, "Deposit Receipt").
 */
export function encodeReceipt(receipt: WireReceipt): Hex {
  const { status, root, depositNonce, depositReceiptVersion } = receipt
  const isOf = (value: string | null | undefined): value is string => typeof value === 'string'
  const fields = [
    isOf(status) ? integer(status) : bytes(root ?? '0x'),
    integer(receipt.cumulativeGasUsed),
    bytes(receipt.logsBloom),
    receipt.logs.map(({ address, topics, data }) => [
      bytes(address),
      topics.map(bytes),
      bytes(data),
    ]),
    // Before Canyon nodes show the nonce, but the trie does not hold it.
    ...(isOf(depositReceiptVersion)
      ? [integer(depositNonce ?? '0x0'), integer(depositReceiptVersion)]
      : []),
  ]
  const type = Number(receipt.type ?? 0)
  const payload = fromHex(fields, { as: 'Hex' })
  return type === 0 ? payload : `0x${type.toString(16).padStart(2, '0')}${payload.slice(2)}`
}

/** An integer of RLP: big-endian without leading zeros. */
export function integer(quantity: string): Hex {
  const digits = quantity.slice(2).replace(/^0+/, '')
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`
}

export function bytes(text: string): Hex {
  return `0x${text.slice(2)}`
}
