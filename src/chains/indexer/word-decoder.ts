import type { AbiEvent } from 'ox/AbiEvent'
import type { Log } from '#domain/chain.ts'

type WordReader = (word: string) => unknown

const WORD_DIGITS = 64

/**
 * For events whose arguments are all one word; undefined for others (Solidity ABI). The reader
 * returns undefined if a log does not fit.
 */
export function compileWordDecoder(
  event: AbiEvent,
):
  | ((log: Pick<Log, 'topics' | 'data'>) => Readonly<Record<string, unknown>> | undefined)
  | undefined {
  const fields = event.inputs.map((input, position) => ({
    name: input.name ?? String(position),
    indexed: input.indexed === true,
    read: readerOf(input.type),
  }))
  if (event.anonymous === true || fields.some((field) => field.read === undefined)) return undefined
  const topics = fields.filter((field) => field.indexed).length + 1
  const digits = (fields.length - topics + 1) * WORD_DIGITS
  return (log) => {
    if (log.topics.length !== topics || log.data.length < digits + 2) return undefined
    const args: Record<string, unknown> = {}
    let topic = 1
    let at = 2
    for (const { name, indexed, read } of fields) {
      const word = indexed
        ? (log.topics[topic++] ?? '').slice(2)
        : log.data.slice(at, at + WORD_DIGITS)
      if (!indexed) at += WORD_DIGITS
      const value = read?.(word)
      if (value === undefined) return undefined
      args[name] = value
    }
    return args
  }
}

function readerOf(type: string): WordReader | undefined {
  if (type === 'address') return (word) => `0x${word.slice(24)}`
  if (type === 'bool') return readFlag
  const [, kind, size] = /^(uint|int|bytes)(\d+)$/.exec(type) ?? []
  if (kind === 'uint') return (word) => BigInt(`0x${word}`)
  if (kind === 'int') return (word) => BigInt.asIntN(256, BigInt(`0x${word}`))
  if (kind === 'bytes') return (word) => `0x${word.slice(0, Number(size) * 2)}`
  return undefined
}

function readFlag(word: string): boolean | undefined {
  const value = Number(`0x${word}`)
  return value > 1 ? undefined : value === 1
}
