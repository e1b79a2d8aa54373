import { createHash } from 'node:crypto'
import type { Json, JsonMembers } from '#lib/json.ts'

export interface PartEntry {
  /** A name to display, such as `burns[0]`; entries may move. */
  readonly field: string
  readonly facts: JsonMembers
  /** The fields of the file behind facts that are not fields of the entry. */
  readonly fieldOf?: Readonly<Record<string, string>>
}

export interface FilePart {
  readonly chainId: number | null
  /** A dataset, `CHAIN_PART`, or a token whose settings shape its dollar value. */
  readonly name: string
  readonly entries: readonly PartEntry[]
}

export interface FileParts {
  readonly parts: readonly FilePart[]
  readonly digest: string
}

export const CHAIN_PART = 'chain'

export function toFileParts(parts: readonly FilePart[]): FileParts {
  const digests = parts.map((part) => `${keyOf(part)} ${digestOf(part)}`)
  return { parts, digest: sha256(digests.sort().join('\n')) }
}

export function digestOf({ entries }: Pick<FilePart, 'entries'>): string {
  return sha256(JSON.stringify(entries.map(({ facts }) => sorted(facts))))
}

export function keyOf({ chainId, name }: Pick<FilePart, 'chainId' | 'name'>): string {
  return `${chainId ?? ''}|${name}`
}

export interface PartChange extends Pick<FilePart, 'chainId' | 'name'> {
  readonly fields: readonly string[]
}

export function partChanges(
  before: readonly FilePart[],
  after: readonly FilePart[],
): readonly PartChange[] {
  const old = new Map(before.map((part) => [keyOf(part), part]))
  const young = new Map(after.map((part) => [keyOf(part), part]))
  return [...new Map([...old, ...young]).values()].flatMap(({ chainId, name }) => {
    const key = keyOf({ chainId, name })
    const fields = entryChanges(old.get(key)?.entries ?? [], young.get(key)?.entries ?? [])
    const isIn = old.has(key) === young.has(key)
    return fields.length === 0 && isIn ? [] : [{ chainId, name, fields }]
  })
}

/** Matches equal entries first, then pairs the others in order as edits. */
function entryChanges(
  before: readonly PartEntry[],
  after: readonly PartEntry[],
): readonly string[] {
  const isOrderKept = digestOf({ entries: before }) === digestOf({ entries: after })
  if (isOrderKept) return []
  const left = [...before]
  const edited = after.filter((entry) => {
    const same = left.findIndex(
      (each) => digestOf({ entries: [each] }) === digestOf({ entries: [entry] }),
    )
    if (same >= 0) left.splice(same, 1)
    return same < 0
  })
  const changes = edited.flatMap((entry, index) => {
    const old = left[index]
    return old === undefined ? [`${entry.field} added`] : factChanges(old, entry)
  })
  const removed = left.slice(edited.length).map(({ field }) => `${field} removed`)
  const all = [...changes, ...removed]
  return all.length > 0
    ? all
    : [`the order of ${after.map(({ field }) => field).join(', ')} changed`]
}

function factChanges(before: PartEntry, after: PartEntry): readonly string[] {
  const names = new Set([...Object.keys(before.facts), ...Object.keys(after.facts)])
  const text = (value: Json | undefined) => JSON.stringify(sorted(value ?? null))
  return [...names]
    .filter((name) => text(before.facts[name]) !== text(after.facts[name]))
    .map((name) => {
      const field = after.fieldOf?.[name]
      const isSame = field !== undefined && before.fieldOf?.[name] === field
      return `${isSame ? field : `${after.field}.${name}`} changed`
    })
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, each]) => [name, sorted(each)] as const)
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
