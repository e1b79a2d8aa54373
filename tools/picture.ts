import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { allowedImports, mayImport, wings } from './tidy/house.ts'

const root = join(import.meta.dirname, '..')
const treePath = join(root, 'docs/architecture.md')
export const picturePath = join(root, 'docs/architecture.svg')

/** A room below `src/`, which is a layer, and its line in the tree of docs/architecture.md. */
export type Layer = { readonly name: string; readonly text: string; readonly wing?: string }

/** A layer and the place of its row and of its column. */
type Placed = Layer & { readonly x: number; readonly y: number }

type StoreName = 'register' | 'accounts'

/** Layers whose tables make up each store; a test compares them with the sources. */
export const tablesOf: Readonly<Record<StoreName, readonly string[]>> = {
  register: ['indexer', 'datasets'],
  accounts: ['ledger', 'keys', 'payments', 'x402', 'webhooks'],
}

const row = { height: 34, top: 112 }
/** Above the first room of a wing. */
const wingHeight = 30
const names = { left: 172, width: 94 }
const text = { left: 276, charactersMax: 54 }
const grid = { left: 626, step: 17 }
const outside = { left: 14, width: 92, height: 26 }
/** Two lines of text, at the sides of a row's middle. */
const lineHeight = 14

const style = `
  :root { --back: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #d9dee3; --box: #f3f5f7;
    --accounts: #9a5b00; --register: #0b62c4; --other: #59636e }
  @media (prefers-color-scheme: dark) {
    :root { --back: #11161d; --ink: #e9eef4; --faint: #a3aebb; --line: #2c343d; --box: #1b222b;
      --accounts: #e8ab45; --register: #6cb2ff; --other: #a3aebb }
  }
  text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: var(--ink) }
  .name { font-weight: 600 } .wing { font-weight: 600 } .title { font-size: 16px; font-weight: 600 }
  .middle { text-anchor: middle } .faint { fill: var(--faint) } .back { fill: var(--back) }
  .line { stroke: var(--line) } .box { fill: var(--box); stroke: var(--line) }
  .dot { fill: var(--ink) } .wire { fill: none; stroke-width: 1.5 }
  .accounts { stroke: var(--accounts) } .register { stroke: var(--register) } .other { stroke: var(--other) }
`

/** Reads the layers, top to bottom, from the tree in docs/architecture.md. */
export function readLayers(document: string): readonly Layer[] {
  const tree = /^src\/\n((?: {2}.+\n)+)/m.exec(document)?.[1] ?? ''
  let wing = ''
  return [...tree.matchAll(/^( +)([a-z0-9-]+)\/ +(.+)$/gm)].flatMap(
    ([, indent = '', name = '', line = '']) => {
      if (indent.length > 2) return [{ name, text: line, wing }]
      wing = name
      return name in wings ? [] : [{ name, text: line }]
    },
  )
}

/** Draws layers as rows, what each may import as columns, and what is outside on the left. */
export function drawArchitecture(rooms: readonly Layer[]): string {
  const layers = place(rooms)
  const width = grid.left + layers.length * grid.step + 24
  const bottom = (layers.at(-1)?.y ?? row.top) + row.height / 2
  const height = bottom + 44
  const parts = [
    `<title id="title">Architecture of Sexton</title>`,
    `<desc id="desc">${layers.map((layer) => describe(layer, layers)).join('; ')}</desc>`,
    `<style>${style}</style>`,
    `<rect class="back" width="${width}" height="${height}" rx="8"/>`,
    label({ x: 14, y: 28, kind: 'title', words: 'Rooms of src/' }),
    label({ x: 14, y: 48, kind: 'faint', words: 'A row may import the columns' }),
    label({ x: 14, y: 64, kind: 'faint', words: 'marked in it, never in a circle.' }),
    ...layers.map((layer) => headingOf(layer, bottom)),
    ...layers.flatMap((layer, index) => wingOf(layer, layers[index - 1])),
    ...layers.flatMap((layer) => rowOf(layer, layers)),
    ...surroundings(layers),
    label({ x: names.left, y: bottom + 26, kind: 'faint', words: othersOf(layers) }),
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc">
${parts.join('\n')}
</svg>
`
}

function place(rooms: readonly Layer[]): readonly Placed[] {
  let top = row.top
  return rooms.map((room, index) => {
    if (room.wing !== rooms[index - 1]?.wing) top += wingHeight
    top += row.height
    return { ...room, x: grid.left + (index + 0.5) * grid.step, y: top - row.height / 2 }
  })
}

/** The same for those who cannot see it. */
function describe(layer: Layer, layers: readonly Layer[]): string {
  const imports = importsOf(layer, layers).map(({ name }) => name)
  return `${layer.name} may import ${imports.join(', ') || 'nothing'}`
}

function importsOf<T extends Layer>({ name }: Layer, layers: readonly T[]): readonly T[] {
  return layers.filter((other) => other.name !== name && mayImport(name, other.name))
}

function headingOf({ name, x }: Placed, bottom: number): string {
  const y = row.top - 8
  return `<path class="line" d="M${x} ${row.top}V${bottom}"/>
<text class="faint" transform="translate(${x + 4} ${y}) rotate(-60)">${name}</text>`
}

/** The name of a wing, above the first of its rooms. */
function wingOf({ wing, y }: Placed, before: Placed | undefined): readonly string[] {
  if (wing === before?.wing) return []
  const words = wing === undefined ? '' : `${wing}/`
  return [label({ x: names.left, y: y - row.height / 2 - 8, kind: 'wing', words })]
}

function rowOf(layer: Placed, layers: readonly Placed[]): readonly string[] {
  const { y } = layer
  const lines = wrap(layer.text)
  const first = y + 4 - ((lines.length - 1) * lineHeight) / 2
  const end = grid.left + layers.length * grid.step
  const store = storeOf(layer.name) ?? ''
  return [
    `<path class="line" d="M${names.left} ${y + row.height / 2}H${end}"/>`,
    `<rect class="box ${store}" x="${names.left}" y="${y - 13}" width="${names.width}" height="26" rx="5"/>`,
    label({ x: names.left + 9, y: y + 4, kind: 'name', words: layer.name }),
    ...lines.map((words, line) =>
      label({ x: text.left, y: first + line * lineHeight, kind: 'faint', words }),
    ),
    ...importsOf(layer, layers).map(({ x }) => `<circle class="dot" cx="${x}" cy="${y}" r="4"/>`),
  ]
}

function storeOf(layer: string): StoreName | undefined {
  if (tablesOf.register.includes(layer)) return 'register'
  return tablesOf.accounts.includes(layer) ? 'accounts' : undefined
}

type Wire = {
  readonly kind: 'accounts' | 'register' | 'other'
  readonly words: string
  /** What is said below it. */
  readonly note?: string
  readonly layers: readonly string[]
  /** Where the wire turns. */
  readonly x: number
}

/** Callers, chains and the two stores, each wired to the layers that deal with it. */
function surroundings(layers: readonly Placed[]): readonly string[] {
  const wires: readonly Wire[] = [
    { kind: 'other', words: 'chains', layers: ['chain'], x: 140 },
    { kind: 'other', words: 'callers', layers: ['http'], x: 140 },
    { kind: 'accounts', words: 'accounts', note: 'never lost', layers: tablesOf.accounts, x: 128 },
    { kind: 'register', words: 'register', note: 'rebuildable', layers: tablesOf.register, x: 148 },
  ]
  return wires.flatMap((wire) => {
    const ends = layers.flatMap(({ name, y }) => (wire.layers.includes(name) ? [y] : []))
    const y =
      wire.kind === 'register' ? Math.max(...ends) : (ends[Math.floor(ends.length / 2)] ?? 0)
    const from = outside.left + outside.width
    const paths = ends.map((end) => `M${from} ${y}H${wire.x}V${end}H${names.left}`).join('')
    return [`<path class="wire ${wire.kind}" d="${paths}"/>`, thing(wire, y)]
  })
}

/** A store is a drum, anything else a box. */
function thing({ kind, words, note = '' }: Wire, y: number): string {
  const { left, width, height } = outside
  const middle = left + width / 2
  const top = y - height / 2
  const shape =
    kind === 'other'
      ? `<rect class="box other" x="${left}" y="${top}" width="${width}" height="${height}" rx="13"/>`
      : `<path class="box ${kind}" d="M${left} ${top}v${height}${arc(width)}v${-height}${arc(-width)}${arc(width)}"/>`
  const low = kind === 'other' ? 4 : 10
  return `${shape}<text class="name middle" x="${middle}" y="${y + low}">${words}</text>
<text class="faint middle" x="${middle}" y="${y + 34}">${note}</text>`
}

function arc(width: number): string {
  return `a${outside.width / 2} 6 0 0 0 ${width} 0`
}

/** What layers may import outside of `src/`. */
function othersOf(layers: readonly Layer[]): string {
  const rows = layers.map(({ name }) => name)
  const found = rows.flatMap((name) => {
    const allowed = allowedImports(name)
    const others = allowed === 'everything' ? [] : allowed.filter((each) => !rows.includes(each))
    return others.map((other) => `${name} also starts what is in ${other}/.`)
  })
  return ['Coloured frames: layers with tables in that store.', ...found].join(' ')
}

function wrap(line: string): readonly string[] {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    const longer = current === '' ? word : `${current} ${word}`
    if (longer.length > text.charactersMax) lines.push(current)
    current = longer.length > text.charactersMax ? word : longer
  }
  return [...lines, current]
}

type Label = {
  readonly x: number
  readonly y: number
  readonly kind: 'name' | 'title' | 'wing' | 'faint'
  readonly words: string
}

function label({ x, y, kind, words }: Label): string {
  const escaped = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text class="${kind}" x="${x}" y="${y}">${escaped}</text>`
}

if (import.meta.main) {
  const layers = readLayers(await readFile(treePath, 'utf8'))
  await writeFile(picturePath, drawArchitecture(layers))
}
