import { type Hex, keccak256, numberToHex, toRlp } from 'viem'

/** What a made-up block commits to. */
export interface HeaderContent {
  readonly number: number
  readonly parentHash: Hex
  readonly timestamp: number
  readonly logsBloom: Hex
  /** Stands for the roots of everything else. */
  readonly root: Hex
  /** The true one, of a provable chain. */
  readonly receiptsRoot?: Hex
}

const zeros = (length: number): Hex => `0x${'00'.repeat(length)}`

/** A header before EIP-1559 as nodes serve it, in hashing order (Yellow Paper, 4.3). */
function headerFields({ root, receiptsRoot = root, ...block }: HeaderContent) {
  const { number, parentHash, timestamp, logsBloom } = block
  return {
    ...{ parentHash, sha3Uncles: zeros(32), miner: zeros(20), stateRoot: root },
    ...{ transactionsRoot: root, receiptsRoot, logsBloom, difficulty: numberToHex(0) },
    ...{ number: numberToHex(number), gasLimit: numberToHex(0), gasUsed: numberToHex(0) },
    ...{ timestamp: numberToHex(timestamp), extraData: zeros(0), mixHash: zeros(32) },
    nonce: zeros(8),
  }
}

const QUANTITIES: readonly string[] = ['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp']

/** The true hash, written apart from the code under test. */
export function hashOfHeader(content: HeaderContent): Hex {
  const encoded = Object.entries(headerFields(content)).map(([name, value]) =>
    QUANTITIES.includes(name) ? minimal(value) : value,
  )
  return keccak256(toRlp(encoded))
}

/** As `eth_getBlockByNumber` gives it. */
export function wireHeader(block: HeaderContent & { readonly hash: Hex }) {
  return { ...headerFields(block), hash: block.hash }
}

function minimal(quantity: Hex): Hex {
  const digits = quantity.slice(2).replace(/^0+/, '')
  return `0x${digits.padStart(digits.length + (digits.length % 2), '0')}`
}
