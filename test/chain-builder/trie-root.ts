import { type Hex, keccak256, numberToHex, toRlp } from 'viem'

type Item = Hex | readonly Item[]

interface Entry {
  readonly nibbles: readonly number[]
  readonly value: Hex
}

/** Root of the Merkle Patricia trie of a list (Yellow Paper, appendix D); keys are its indexes. */
export function trieRoot(values: readonly Hex[]): Hex {
  if (values.length === 0) return keccak256(toRlp('0x'))
  const entries = values.map((value, index) => ({
    nibbles: nibblesOf(toRlp(index === 0 ? '0x' : evenHex(index))),
    value,
  }))
  return keccak256(encode(nodeOf(entries, 0)))
}

function nodeOf(entries: readonly Entry[], depth: number): Item {
  const [first] = entries
  if (first === undefined) return '0x'
  if (entries.length === 1) return [packed(first.nibbles.slice(depth), true), first.value]
  const shared = sharedFrom(entries, depth)
  if (shared.length > 0)
    return [packed(shared, false), reference(nodeOf(entries, depth + shared.length))]
  const children = Array.from({ length: 16 }, (_, nibble) => {
    const below = entries.filter(({ nibbles }) => nibbles[depth] === nibble)
    return below.length === 0 ? '0x' : reference(nodeOf(below, depth + 1))
  })
  // No key is the beginning of another, so branches hold no value.
  return [...children, '0x']
}

function sharedFrom([first, ...others]: readonly Entry[], depth: number): readonly number[] {
  const rest = first?.nibbles.slice(depth) ?? []
  const end = rest.findIndex((nibble, at) =>
    others.some(({ nibbles }) => nibbles[depth + at] !== nibble),
  )
  return end < 0 ? rest : rest.slice(0, end)
}

/** Nodes of less than 32 bytes stand in their parent. */
function reference(node: Item): Item {
  const encoded = encode(node)
  return encoded.length < 2 + 2 * 32 ? node : keccak256(encoded)
}

function encode(node: Item): Hex {
  return toRlp(node as Parameters<typeof toRlp>[0])
}

/** Hex-prefix encoding. */
function packed(nibbles: readonly number[], isLeaf: boolean): Hex {
  const flag = (isLeaf ? 2 : 0) + (nibbles.length % 2)
  const all = nibbles.length % 2 === 0 ? [flag, 0, ...nibbles] : [flag, ...nibbles]
  return `0x${all.map((nibble) => nibble.toString(16)).join('')}`
}

function nibblesOf(hex: Hex): readonly number[] {
  return [...hex.slice(2)].map((digit) => Number.parseInt(digit, 16))
}

function evenHex(number: number): Hex {
  const digits = numberToHex(number).slice(2)
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`
}
